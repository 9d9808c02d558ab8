"""Parts of a call's arguments that were taken from an earlier result, not written by its client."""

from msgspec import Struct

from switchboard.core.calls.launches import Launch


class Borrowed(Struct, frozen=True, eq=False, kw_only=True):
    """One argument, or a part of one, that is a part of a result."""

    # The keys and indices that lead to it in the arguments.
    place: tuple[str | int, ...]
    handle: str
    # Whose result it was.
    server: str
    tool: str
    # Where in the result it was, as a JSON Pointer.
    path: str
    # How long it is as it is sent.
    letters: int
    # How many changes a patch made to it.
    changes: int = 0
    # What it was before them, as JSON; empty where it is too long to be compared.
    before: bytes = b""


class Quoted(Struct, frozen=True, eq=False):
    """What a kept result came from: whoever reads it again reads the same words."""

    launch: Launch
    is_error: bool = False
