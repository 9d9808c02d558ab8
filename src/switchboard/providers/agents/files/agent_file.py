"""What one agent file says, before the settings decide what becomes of it."""

from typing import Any

from msgspec import Struct

from switchboard.config.problems import Problem
from switchboard.engines.profile import RunFields
from switchboard.providers.agents.agent import AgentFormat
from switchboard.runs.limits import OnCrash

# What tells a changed file from an unchanged one, without reading it.
Signature = tuple[int, int, int, int]


class AgentPart(Struct, frozen=True):
    """A file that an agent is made of, or that would be a part of it if it were there."""

    path: str
    signature: Signature | None
    digest: str = ""


class AgentFile(Struct, frozen=True, kw_only=True):
    """An agent as its file writes it."""

    format: AgentFormat
    path: str
    name: str
    line: int = 1
    column: int = 1
    # `None` where the file has none.
    description: str | None = None
    tags: tuple[str, ...] = ()
    instructions: str = ""
    tools: tuple[str, ...] = ()
    # Tools that it must not have, in the words of the vendor.
    refused_tools: tuple[str, ...] = ()
    run: RunFields = RunFields()
    # Further models, in the order in which the file prefers them.
    models: tuple[str, ...] = ()
    # Servers by name: the fields of a server as `mcp.json` has them.
    servers: dict[str, dict[str, Any]] = {}
    engine: str = ""
    on_crash: OnCrash | None = None
    run_minutes: int | None = None
    # Words of the format that mean nothing here.
    unused: tuple[str, ...] = ()


class AgentReading(Struct, frozen=True, kw_only=True):
    """What became of reading one file: an agent, or why it is none; and what it depends on."""

    agent: AgentFile | None = None
    problems: tuple[Problem, ...] = ()
    parts: tuple[AgentPart, ...] = ()

    @property
    def digest_text(self) -> str:
        """The digests of all its parts, in their order."""
        return "\n".join(part.digest for part in self.parts)
