"""What trust is bound to, in words for whoever is asked."""

import shlex

DEV = (
    "you write it: a change of its files does not ask again, so whoever can write in this folder,"
    " an agent too, decides what it runs"
)
ANY_CHANGE = "any change of a file in this folder asks again"


def whole_in_words(why: str, name: str) -> str:
    """Of what cannot be followed to the code that it runs."""
    return f"{why}: {ANY_CHANGE}; if you edit here, `switchboard trust --dev {shlex.quote(name)}`"


def too_large_in_words(why: str, name: str) -> str:
    """Of the same in a folder that is too large to be bound."""
    return (
        f"{why}, and this folder has too many files, or a pipe, to notice each change of one: it"
        " can only be trusted whatever they hold, with `switchboard trust --dev"
        f" {shlex.quote(name)}`"
    )
