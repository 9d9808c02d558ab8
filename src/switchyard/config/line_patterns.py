"""Regular expressions of a project, which are tried on every line of its logs."""

import re

# What may stop at many places, and what comes more than once.
_VARIABLE = r"[*+]|\{\d*,(?:\d{2,})?\}"
_OFTEN = _VARIABLE + r"|\{(?:\d*,)?(?:[2-9]|\d{2,})\}"
_GROUP = r"\((?:\?(?P<atomic>>)?)?"
_CLASS = r"\[\^?\]?(?:\\.|[^\]\\])*\]"


def pattern_problem(text: str) -> str | None:
    """What is wrong with a pattern; nothing where a line takes no longer than it should."""
    try:
        re.compile(text)
    except re.error as wrong:
        return f"`{text}` is not a regular expression: {wrong}"
    if _repeats_repetition(text):
        return (
            f"`{text}` repeats a repetition, which can take years for one line;"
            " make the inner one possessive, `++` for `+`, or take one of them away"
        )
    return None


def _repeats_repetition(text: str) -> bool:
    """Whether a group is repeated often that repeats something itself, and may give it back.

    Each way to share a text out among the two is tried before a match is given up.
    """
    # For each open group: whether it repeats something that it may give back, and is atomic.
    open_groups: list[tuple[bool, bool]] = [(False, False)]
    at = 0
    while at < len(text):
        last = False
        if text[at] == "\\":
            at += 2
        elif found := re.compile(_CLASS).match(text, at):
            at = found.end()
        elif found := re.compile(_GROUP).match(text, at):
            open_groups.append((False, bool(found["atomic"])))
            at = found.end()
            continue
        elif text[at] == ")":
            repeats, is_atomic = open_groups.pop()
            last = repeats and not is_atomic
            at += 1
        else:
            at += 1
        if often := re.compile(_OFTEN).match(text, at):
            at = often.end()
            is_possessive = text[at : at + 1] == "+"
            if last and not is_possessive:
                return True
            last = not is_possessive and bool(re.fullmatch(_VARIABLE, often[0]))
            at += text[at : at + 1] in ("+", "?")
        if last:
            open_groups[-1] = (True, open_groups[-1][1])
    return False
