"""What a rule that names a tool means for it."""

from typing import Literal

from msgspec import Struct

from switchboard.approvals.risk import asks, assess, why_not_lasting
from switchboard.core.calls.launches import Launch


class RuledTool(Struct, frozen=True, kw_only=True):
    """One tool that a rule names."""

    server: str
    tool: str
    # Whether the rule answers for it, it asks all the same, or it needs no answer at all.
    state: Literal["covered", "asks", "free"]
    # Why it asks.
    why: str = ""

    @classmethod
    def of(cls, launch: Launch) -> "RuledTool":
        server, tool = launch.server, launch.tool.name
        if not asks(launch, assess(launch)):
            return cls(server=server, tool=tool, state="free")
        why = why_not_lasting(launch)
        return cls(server=server, tool=tool, state="asks" if why else "covered", why=why)
