"""Whether the service of an agent's model can be reached, by what the agent says on stderr.

Nobody can tell from the outside whether a model thinks or is not there. An agent that says each
time why it has to try again can be given up on long before it gives up itself.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from switchboard.core.faults import Fault, FaultCode
from switchboard.engines.acp.agents import AcpAgent
from switchboard.engines.process import EngineProcess

_LOOK_S = 0.5
# A service that is restarted is back by then.
_TRIES = 3
_OF_THE_MODEL = frozenset(
    {"agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update"}
)


class ModelReach:
    """Counts the tries that failed since the agent was last heard."""

    def __init__(self, agent: AcpAgent, process: EngineProcess) -> None:
        self._agent = agent
        self._process = process
        self._known = self._failures()
        self._is_lost = False

    def heard(self, line: Mapping[str, Any]) -> None:
        """Take a line of the agent. After a word of its model, failures before it do not count."""
        params = line.get("params")
        update = cast("Mapping[str, Any]", params).get("update") if params else None
        kind = cast("Mapping[str, Any]", update).get("sessionUpdate") if update else None
        if kind in _OF_THE_MODEL:
            self._known = self._failures()

    async def until_lost(self, end: Callable[[], Awaitable[None]]) -> None:
        """Wait until too many tries have failed, and end the process then."""
        while self._agent.unreachable:
            await asyncio.sleep(_LOOK_S)
            if len(self._failures() - self._known) >= _TRIES:
                self._is_lost = True
                await end()
                return

    def explained(self, fault: Fault) -> Fault:
        """Why the process has ended, where that is known better here."""
        if not self._is_lost:
            return fault
        return Fault(
            FaultCode.UNAVAILABLE,
            "model-unreachable",
            "the service of the model cannot be reached",
            private=self._process.last_words,
        )

    def _failures(self) -> frozenset[str]:
        """The lines that tell of a try; each begins with its time. Only the latest are kept."""
        if not self._agent.unreachable:
            return frozenset()
        return frozenset(re.findall(self._agent.unreachable, self._process.last_words))
