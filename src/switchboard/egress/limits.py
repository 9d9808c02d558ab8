"""How much of us one child may have."""

from msgspec import Struct


class EgressLimits(Struct, frozen=True, kw_only=True):
    """The bounds of one proxy."""

    # Connections at the same time.
    connections: int = 128
    # Those besides that have not said yet who they are, where others can come too.
    strangers: int = 64
    # The head of a request or of an answer.
    head_bytes: int = 32 * 1024
    # From its first byte to its last.
    head_s: float = 15.0
    connect_s: float = 15.0
    # Without a byte in either direction.
    idle_s: float = 600.0
    # How long a person is waited for.
    ask_s: float = 50.0
    # Refusals that are told as events, of one child: it must not fill the log.
    events: int = 32


LIMITS = EgressLimits()
# What is read at a time.
CHUNK = 64 * 1024
