"""How long a child may take."""

from msgspec import Struct


class ChildLimits(Struct, frozen=True, kw_only=True):
    """How long things may take. `idle_s` of 0 keeps an idle child running."""

    spawn_s: float = 8.0
    rpc_s: float = 60.0
    idle_s: float = 600.0
    # The longest that a call may take while its child reports progress.
    longest_s: float = 3_600.0
