"""The engines of one board, each loaded by the first run that needs it."""

import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from switchboard.core.faults import Fault, FaultCode
from switchboard.engines.engine import AgentEngine
from switchboard.providers.agents.options import AcpProgram
from switchkit.reaper_client import Reaper

_SPARES = "spares"
_TEMPLATES = ("cache", "engines")


class EngineSet:
    """Kept over reloads: a process that waits for the next run must not be lost."""

    def __init__(self) -> None:
        # The engine of a key for one program.
        self._made: dict[tuple[str, str], AgentEngine] = {}
        self._spares: Any = None

    def get(
        self,
        key: str,
        *,
        home: str,
        reaper: Reaper,
        programs: Mapping[str, str],
        acp: Mapping[str, AcpProgram],
    ) -> AgentEngine:
        """An engine by its key. Raises a fault where there is none."""
        kind, _, name = key.partition(":")
        program = programs.get(kind, "") if kind != "acp" else repr(acp.get(name))
        made = self._made.get((key, program))
        if made is None:
            made = self._made[key, program] = self._make(key, program, home, reaper, acp)
        return made

    def _make(
        self, key: str, program: str, home: str, reaper: Reaper, acp: Mapping[str, AcpProgram]
    ) -> AgentEngine:
        kind, _, name = key.partition(":")
        if kind == "codex":
            if self._spares is None:
                spare = import_module("switchboard.engines.codex.spare")
                self._spares = spare.Spares(os.path.join(home, _SPARES))
            template = import_module("switchboard.engines.codex.template")
            templates = template.HomeTemplates(os.path.join(home, *_TEMPLATES))
            codex = import_module("switchboard.engines.codex.engine")
            return codex.CodexEngine(
                reaper=reaper, program=program, spares=self._spares, templates=templates
            )
        if kind == "claude":
            claude = import_module("switchboard.engines.claude.engine")
            return claude.ClaudeEngine(program) if program else claude.ClaudeEngine()
        if kind != "acp":
            raise Fault(
                FaultCode.FAILED_PRECONDITION,
                "engine-unknown",
                f"there is no engine `{key}`",
                hint="use `codex`, `claude` or `acp:NAME`",
            )
        engines = import_module("switchboard.engines.acp.engine")
        entry = acp.get(name)
        if entry is None:
            # Some are known by name alone; it raises for the others.
            return engines.AcpEngine(name)
        return engines.AcpEngine(name, entry.command, args=entry.args, env=entry.env)

    async def aclose(self) -> None:
        """End what waits for the next run."""
        if self._spares is not None:
            await self._spares.aclose()
