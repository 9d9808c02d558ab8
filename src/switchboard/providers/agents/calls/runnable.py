"""An agent that can be run: its tool, the engine it runs on, and what that engine is told."""

import hashlib
from functools import cached_property

import msgspec
from msgspec import Struct

from switchboard.core.catalog.tools import ToolSpec
from switchboard.engines.profile import AgentProfile, AttachedServer
from switchboard.providers.agents.agent import Agent


class RunnableAgent(Struct, frozen=True, kw_only=True, eq=False, dict=True):
    """An agent after tools and models have been mapped. Servers that are found come on top."""

    agent: Agent
    spec: ToolSpec
    # `codex`, `claude` or `acp:NAME`.
    engine: str
    profile: AgentProfile
    # Its tools after the tool map, and the servers that the map brings along.
    references: tuple[str, ...] | None = None
    injected: tuple[AttachedServer, ...] = ()
    limit_s: float = 1800.0

    @property
    def may_write(self) -> bool:
        """Whether nothing keeps it from changing files."""
        return self.profile.fields.sandbox_mode != "read-only"

    @cached_property
    def fingerprint(self) -> str:
        """Of everything that decides what runs."""
        agent = self.agent
        # That of an agent of a workspace is of its files; one of the user's own has none.
        servers = (agent.servers, agent.remote_servers, self.injected, self.references)
        decisive = (agent.fingerprint, self.engine, self.profile, servers)
        return hashlib.sha256(msgspec.json.encode(decisive)).hexdigest()
