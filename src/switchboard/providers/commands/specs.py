"""Command tools as clients see them. Starts nothing and reads no file."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from switchboard.core.catalog.tools import Effects, Policy, ToolSpec
from switchboard.core.faults import Fault
from switchboard.core.principal import this_user
from switchboard.core.sessions import Session
from switchboard.providers.commands.launches import has_network
from switchboard.providers.commands.plans import CommandContext, place_of
from switchboard.providers.commands.schema import CommandEntry

PROVIDER = "commands"
_HIDDEN = "[present]"

# Whether a person has to agree to every call of a tool.
Asks = Callable[[CommandEntry, ToolSpec], bool]


class Particulars(Struct, frozen=True):
    """What a session is told of a command tool beside its schema."""

    entry: CommandEntry
    ground: CommandContext
    asks: bool

    def __call__(self, session: Session) -> dict[str, Any]:
        entry, user = self.entry, this_user()
        told: dict[str, Any] = {
            "display_name": entry.display_name or entry.name,
            "requires_approval": self.asks,
            "sandbox_profile": entry.sandbox_profile,
            "allow_network": has_network(entry),
            "default_timeout_ms": entry.timeout_ms,
            "allows_streaming": entry.streaming,
            "side_effects": list(entry.side_effects),
            "session": {"workspace": session.workspace, "user": user.name or str(user.uid)},
        }
        try:
            place = place_of(entry, session, self.ground)
        except Fault:
            # A variable is gone since the files were read. The call says which.
            return {**told, "cwd": None, "env": {}, "overrides_active": False}
        env = {
            name: _HIDDEN if name in place.hidden else place.env[name]
            for name in (*place.env, *place.given)
        }
        return {**told, "cwd": place.cwd, "env": env, "overrides_active": place.is_overridden}


def command_spec(entry: CommandEntry, ground: CommandContext, asks: Asks) -> ToolSpec:
    """The tool of an entry."""
    bare = ToolSpec(
        name=entry.name,
        provider=PROVIDER,
        title=entry.display_name,
        description=entry.description or f"Runs `{entry.command}`.",
        input_schema=entry.input_schema,
        effects=_effects(entry),
        policy=Policy(
            timeout_s=entry.timeout_ms / 1000,
            timeout_key="timeout_ms",
            streaming=entry.streaming,
        ),
        origin=entry.origin,
    )
    particulars = Particulars(entry, ground, asks(entry, bare))
    # `replace` of a struct without equality would do; a listing has no need of another import.
    return ToolSpec(
        **{name: getattr(bare, name) for name in bare.__struct_fields__ if name != "particulars"},
        particulars=particulars,
    )


def _effects(entry: CommandEntry) -> Effects:
    """What a tool may do, by what is declared and by what its sandbox lets it."""
    declared = set(entry.side_effects)
    free = entry.sandbox_profile == "none"
    network = entry.allow_network or "network" in declared
    writes = bool(declared - {"filesystem-read"} or entry.writable_roots)
    reads = entry.is_to_only_read and not (writes or free or network)
    return Effects(
        read_only=True if reads else False if writes else None,
        open_world=True if network else None if free else False,
    )
