"""What a move came to, kind by kind. Light: reports are made of it."""

from collections.abc import Collection
from typing import Literal

from msgspec import Struct

from switchboard.core.faults import Fault, FaultCode

Kind = Literal["pins", "rules", "secrets", "audit"]
# In the order of the report. The log goes one way.
TO_DATABASE: tuple[Kind, ...] = ("pins", "rules", "secrets", "audit")
TO_HOME: tuple[Kind, ...] = ("pins", "rules", "secrets")
WORDS: dict[Kind, str] = {
    "pins": "pinned definitions",
    "rules": "lasting rules",
    "secrets": "secrets and logins",
    "audit": "audit records",
}
_MOST_NAMES = 5


class MovedKind(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How much of one kind there was, and what was done with it."""

    kind: Kind
    # What is there now, on both sides, with the same content.
    count: int = 0
    added: int = 0
    # What the target had, and was exchanged or taken out.
    replaced: int = 0
    # Of what is there now, the same for both sides. Secrets have none: it would tell of them.
    digest: str = ""
    # The chain that the records are in.
    chain: str = ""

    @property
    def same(self) -> int:
        """How many were there before."""
        return self.count - self.added


class LeftBehind(Struct, frozen=True, kw_only=True):
    """What a move leaves where it is, and why."""

    what: str
    why: str


class Move(Struct, frozen=True, kw_only=True):
    """All that was moved, and what was not."""

    kinds: tuple[MovedKind, ...]
    left: tuple[LeftBehind, ...] = ()


def differs(kind: Kind, names: Collection[str], *, at_home: bool) -> Fault:
    """The fault of a target that has something else of a kind; nothing was changed."""
    shown = sorted(names)[:_MOST_NAMES]
    more = ", …" if len(names) > len(shown) else ""
    whose = "this home has" if at_home else "the database has"
    source = "the database" if at_home else "this home"
    return Fault(
        FaultCode.ALREADY_EXISTS,
        "state-differs",
        f"{whose} {WORDS[kind]} that {source} does not have, or has otherwise"
        f" ({len(names)}: {', '.join(shown)}{more}); nothing was moved",
        hint="add --replace to put those of the database in their place"
        if at_home
        else "move into a database that no team uses yet, or name other kinds with --only",
        details={"kind": kind, "count": len(names)},
    )


def unverified(kind: Kind) -> Fault:
    """The fault of a target that did not take what it was given; it is undone."""
    return Fault(
        FaultCode.INTERNAL,
        "move-not-verified",
        f"the {WORDS[kind]} that were written are not those that were read, so it was undone",
        hint="look at the log and the disk of the database, and try again",
    )
