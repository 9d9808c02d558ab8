"""Agents that speak the Agent Client Protocol as engines, one for each name."""

import os
from collections.abc import Mapping, Sequence

from switchboard.core.faults import Fault, FaultCode
from switchboard.engines.acp.agents import KNOWN, agent_named
from switchboard.engines.acp.conversation import AcpConversation
from switchboard.engines.acp.mapping import unsupported
from switchboard.engines.engine import EngineConversation, Readiness
from switchboard.engines.login_files import texts_in
from switchboard.engines.profile import AgentProfile, EngineSpec
from switchboard.engines.programs import ask_program, find_program, version_in
from switchkit.reaper_client import Reaper


class AcpEngine:
    """One agent that speaks ACP, in a process for each conversation."""

    def __init__(
        self,
        name: str,
        command: str = "",
        *,
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> None:
        agent = agent_named(name, command, args, env)
        if agent is None:
            raise Fault(
                FaultCode.FAILED_PRECONDITION,
                "engine-unknown",
                f"there is no engine `acp:{name}`",
                hint=f"write `[agents.acp.{name}]` with its `command`, or use one of "
                + ", ".join(f"`acp:{known}`" for known in KNOWN),
            )
        self._agent = agent

    @property
    def key(self) -> str:
        return f"acp:{self._agent.name}"

    async def ready(self, env: Mapping[str, str]) -> Readiness:
        """As the port says. Whether somebody is logged in, these agents tell only at work."""
        agent = self._agent
        program = await find_program(agent.command[0], env)
        if not program:
            return Readiness(
                problem=f"{agent.name} was not found (`{agent.command[0]}`)",
                hint=agent.install or "install it, or correct its command in the settings",
            )
        told = await ask_program((program, "--version"), env)
        version = version_in(told.stdout)
        if told.status != 0 or version is None:
            return Readiness(
                program=program,
                problem=f"{agent.name} did not say which version it is",
                hint=f"run `{program} --version` and mend what it complains about",
            )
        return Readiness(program=program, version=".".join(map(str, version)))

    def credentials(self, env: Mapping[str, str]) -> frozenset[str]:
        if not self._agent.login:
            return frozenset()
        home = env.get("HOME") or "/"
        folder = env.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
        return texts_in(os.path.join(folder, self._agent.login))

    def converse(self, spec: EngineSpec, *, reaper: Reaper) -> EngineConversation:
        return AcpConversation(self._agent, spec, reaper)

    def unsupported(self, profile: AgentProfile) -> tuple[str, ...]:
        return unsupported(self._agent, profile)
