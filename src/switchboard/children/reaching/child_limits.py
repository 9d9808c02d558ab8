"""How long a child may take."""

from typing import Protocol

from msgspec import Struct

from switchboard.children.schema import ServerEntry


class ChildLimits(Struct, frozen=True, kw_only=True):
    """How long things may take. `idle_s` of 0 keeps an idle child running."""

    spawn_s: float = 8.0
    rpc_s: float = 60.0
    idle_s: float = 600.0
    # The longest that a call may take while its child reports progress.
    longest_s: float = 3_600.0


class ChildTimeouts(Protocol):
    """How long things may take by the settings."""

    @property
    def child_spawn_ms(self) -> int: ...
    @property
    def rpc_ms(self) -> int: ...
    @property
    def idle_ms(self) -> int: ...
    @property
    def longest_ms(self) -> int: ...


def limits_of(entry: ServerEntry, timeouts: ChildTimeouts, idle_ms: int | None) -> ChildLimits:
    """The limits of one server; `idle_ms` is its suite's own."""
    return ChildLimits(
        spawn_s=timeouts.child_spawn_ms / 1000,
        rpc_s=(entry.rpc_timeout_ms or timeouts.rpc_ms) / 1000,
        idle_s=(timeouts.idle_ms if idle_ms is None else idle_ms) / 1000,
        longest_s=timeouts.longest_ms / 1000,
    )
