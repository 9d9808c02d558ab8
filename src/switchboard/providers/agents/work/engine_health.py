"""Whether the engines that agents run on can be used here, for whoever looks after them."""

import asyncio
from collections.abc import Mapping

from switchboard.core.faults import Fault
from switchboard.engines.engine import Readiness
from switchboard.providers.agents.found_agents import FoundAgents
from switchboard.providers.agents.work.engine_environment import engine_environment
from switchboard.providers.agents.work.engine_set import EngineSet
from switchboard.runs.places import has_runs
from switchboard.runs.store.database import trouble_with
from switchkit.reaper_client import Reaper

_CODEX = "codex"


def engines_of(found: FoundAgents) -> dict[str, list[str]]:
    """The engines that are used, each with the tools that use it."""
    users: dict[str, list[str]] = {}
    for tool, agent in found.usable.items():
        users.setdefault(found.plan(agent).engine, []).append(tool)
    if found.options.codex_tools:
        users.setdefault(_CODEX, []).append(_CODEX)
    return users


def runs_trouble(home: str) -> tuple[str, str]:
    """What is wrong with the runs of a home, and what to do; empty where nothing is."""
    return trouble_with(home) if has_runs(home) else ("", "")


def engine_health(
    found: FoundAgents, home: str, environ: Mapping[str, str]
) -> dict[str, Readiness]:
    """What each engine that is used says of itself. Blocks: programs are asked."""
    return asyncio.run(_asked(found, home, environ))


async def _asked(found: FoundAgents, home: str, environ: Mapping[str, str]) -> dict[str, Readiness]:
    options, engines, reaper = found.options, EngineSet(), Reaper()
    told: dict[str, Readiness] = {}
    try:
        for key in engines_of(found):
            env = engine_environment(environ, key, depth=0, more=options.pass_env)
            try:
                engine = engines.get(
                    key, home=home, reaper=reaper, programs=options.programs, acp=options.acp
                )
            except Fault as fault:
                told[key] = Readiness(problem=fault.message, hint=fault.hint)
                continue
            told[key] = await engine.ready(env)
    finally:
        await engines.aclose()
        reaper.close()
    return told
