"""Where an account is used: patterns for the remote of a repository and for folders.

Of the patterns that fit, one for folders outranks one for remotes: where a folder lies is the
user's word, what a repository says of its remote is the repository's. Among those of one kind the
one with more before its first wildcard wins.
"""

import re
from typing import Literal

from msgspec import Struct

from switchboard.children.accounts.git_remote import normalised
from switchkit.platform.paths import true_path

REMOTE, DIR = "remote:", "dir:"
_WILD = re.compile(r"(^|/)\*\*(?:/|$)|\*+")


class Pattern(Struct, frozen=True):
    """One item of `match`."""

    kind: Literal["remote", "dir"]
    # As it is written.
    text: str
    regex: re.Pattern[str]
    # Two that fit the same thing and have the same rank begin with the same letters.
    rank: tuple[bool, int, bool]

    def fits(self, subject: str) -> bool:
        """Whether a remote, or a folder, is one of those that are meant."""
        return bool(subject) and self.regex.fullmatch(subject) is not None


def pattern_of(text: str, home: str) -> Pattern:
    """An item of `match` that has been checked; `~` is the home of the user."""
    if text.startswith(REMOTE):
        plain, kind = canonical(text).removeprefix(REMOTE), "remote"
    else:
        plain, kind = _real(canonical(text).removeprefix(DIR), home), "dir"
    wild = _WILD.search(plain)
    # `a/**` is `a` too, so that its slash is not a part of what has to be there.
    start = len(plain) if wild is None else wild.start()
    return Pattern(kind, text, re.compile(_regex(plain)), (kind == "dir", start, wild is None))


def canonical(text: str) -> str:
    """An item of `match`, written so that the same pattern is the same text."""
    if text.startswith(REMOTE):
        plain = text.removeprefix(REMOTE).strip("/").lower().removesuffix(".git")
        return REMOTE + re.sub(r"/{2,}", "/", plain)
    plain = re.sub(r"/{2,}", "/", text.removeprefix(DIR))
    return DIR + (plain.rstrip("/") or "/")


def remote_fault(text: str) -> str:
    """What to write instead of a pattern that is the address of a repository; empty if it is none.

    Who copies an address has one, and it would never fit.
    """
    plain = text.removeprefix(REMOTE)
    if not text.startswith(REMOTE) or not ("://" in plain or "@" in plain):
        return ""
    return REMOTE + (normalised(plain) or "host/path")


def _real(plain: str, home: str) -> str:
    """A pattern for folders whose part without wildcards leads through no link."""
    if plain == "~" or plain.startswith("~/"):
        plain = home.rstrip("/") + plain[1:]
    fixed, wild, rest = plain.partition("*")
    if not wild:
        return true_path(plain)
    folder, _, name = fixed.rpartition("/")
    return f"{true_path(folder or '/').rstrip('/')}/{name}{wild}{rest}"


def _regex(plain: str) -> str:
    """`*` is a part of one name; `**` between slashes any number of names, also none."""
    found: list[str] = []
    place = 0
    for wild in _WILD.finditer(plain):
        found.append(re.escape(plain[place : wild.start()]))
        text = wild[0]
        if wild[1] is None:
            found.append("[^/]*")
        elif text.endswith("/"):
            found.append("(?:/.*)?/" if text.startswith("/") else "(?:.*/)?")
        else:
            found.append("(?:/.*)?" if text.startswith("/") else ".*")
        place = wild.end()
    return "".join([*found, re.escape(plain[place:])])
