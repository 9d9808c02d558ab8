"""What a server prints on stderr, a line at a time."""

from msgspec import Struct


class LogLine(Struct, frozen=True, kw_only=True):
    """One line, and which process wrote it."""

    number: int
    at: float
    pid: int
    text: str
    # The workspace that it is about; empty where that is not plain.
    workspace: str = ""
    # Not the server's own words: that it has started or ended.
    is_ours: bool = False
