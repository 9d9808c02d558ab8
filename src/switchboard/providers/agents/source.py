"""The plug of agents: files that describe an agent, each a tool."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from switchboard.core.origins import Origin, Scope
from switchboard.core.privacy.secret_names import is_secret_name
from switchboard.providers.agents.found_agents import FoundAgents
from switchboard.providers.agents.listing import agent_specs, read_agents, rewrites, summary_of
from switchboard.providers.agents.section import SECTION
from switchboard.providers.source import Finding, Item, Listed, ListingContext, Secrets, Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from switchboard.core.catalog.tools import ToolSpec
    from switchboard.core.ports import Provider
    from switchboard.providers.agents.agent import Agent
    from switchboard.providers.context import Context
    from switchboard.settings.sections import Settings
    from switchboard.settings.servers import Resolution


class AgentSource(Source[FoundAgents]):
    """Agents as the rest of the program sees them."""

    key = "agents"
    section = SECTION

    def read(self, resolution: Resolution) -> FoundAgents:
        return read_agents(resolution)

    def watched(self, entry: FoundAgents, workspace: str) -> tuple[str, ...]:
        del workspace
        return entry.watched

    def specs(self, listing: ListingContext) -> Listed:
        found = self.agents(listing.settings)
        specs = agent_specs(found)
        if found.options.codex_tools:
            from switchboard.providers.agents.codex_tools.specs import codex_specs  # noqa: PLC0415

            specs += codex_specs()
        if not specs:
            return Listed()
        from switchboard.providers.agents.run_tools.specs import run_specs  # noqa: PLC0415

        return Listed(
            specs=(*specs, *run_specs()),
            offers=frozenset({"resources", "templates"}),
            has_tasks=True,
            notices=tuple(rewrites(found)),
        )

    def build(self, context: Context) -> Provider:
        from switchboard.providers.agents.building import build_agents  # noqa: PLC0415

        return build_agents(context, self.agents(context.settings))

    def env_names(self, settings: Settings) -> frozenset[str]:
        found = self.agents(settings)
        if not found.usable and not found.options.codex_tools:
            return frozenset()
        from switchboard.providers.agents.work.engine_environment import engine_names  # noqa: PLC0415

        return engine_names(more=found.options.pass_env)

    def secrets(self, settings: Settings) -> Secrets:
        """Credentials of engines, and what the servers of other hosts are filled from."""
        own = frozenset(filter(is_secret_name, self.env_names(settings)))
        return Secrets(variables=own | self.agents(settings).host_variables)

    def trusted_files(self, settings: Settings) -> Iterator[str]:
        for agent in self.agents(settings).usable.values():
            yield from (agent.path, *agent.files)

    def agents(self, settings: Settings) -> FoundAgents:
        """Every agent of these settings."""
        return self.configured(settings) or FoundAgents()

    def trust_items(self, settings: Settings) -> Iterator[Item]:
        entry = self.agents(settings)
        every = (*entry.usable.values(), *entry.untrusted.values())
        for agent in every:
            if agent.fingerprint:
                yield self._item(agent, entry)
        if every or entry.options.codex_tools:
            # Few look at this, and it reads the settings of engines.
            from switchboard.providers.agents.work.engine_trust import EngineTrust  # noqa: PLC0415

            yield from EngineTrust(settings, entry).items()
        if every and entry.options.mcp_discovery:
            # As above, and the files of other hosts.
            from switchboard.providers.agents.servers.host_trust import host_items  # noqa: PLC0415

            yield from host_items(settings)
        file = entry.map_file
        if file is not None and file.fingerprint:
            yield Item(
                name=MODELS_ITEM,
                kind="agent",
                trust="waiting" if file.waits else "trusted",
                fingerprint=file.fingerprint,
                runs="; ".join(
                    f"{name} is {target.model}" for name, target in file.map.targets.items()
                ),
                origin=Origin(scope=Scope.WORKSPACE, path=file.path),
            )

    def findings(self, settings: Settings, environ: Mapping[str, str]) -> Iterator[Finding]:
        entry = self.agents(settings)
        if entry.usable or entry.untrusted:
            waiting = f", {len(entry.untrusted)} not trusted" if entry.untrusted else ""
            message = f"{len(entry.usable)}{waiting}"
            yield Finding(severity="note", subject=self.key, message=message)
        if entry.usable or entry.options.codex_tools:
            yield from self._engine_findings(entry, settings, environ)
        for agent in entry.untrusted.values():
            yield Finding(
                severity="warning",
                subject=agent.tool,
                message="this agent is not trusted yet, so it is not shown",
                hint=f"switchboard trust {shlex.quote(agent.tool)}",
            )
        for each in entry.omitted:
            yield Finding(
                severity="warning",
                subject=each.tool,
                message=f"not shown ({each.origin}): {each.reason}",
                hint=each.hint,
            )

    def instructions(self, settings: Settings, tools: Mapping[str, ToolSpec]) -> str:
        entry = self.agents(settings)
        said = ""
        if any(tool.provider == self.key for tool in tools.values()):
            said = (
                " Agents are tools that take `task`, what to do, and `cwd`, the absolute path of"
                " the folder to work in."
            )
        waiting = len(entry.untrusted)
        if waiting:
            noun = "agent waits" if waiting == 1 else "agents wait"
            said += (
                f" {waiting} {noun} for trust in this workspace and cannot be called until then:"
                " the user looks at them with `switchboard trust`."
            )
        return said

    def _engine_findings(
        self, entry: FoundAgents, settings: Settings, environ: Mapping[str, str]
    ) -> Iterator[Finding]:
        # It loads the engines, which only who looks for trouble needs without a run.
        from switchboard.providers.agents.work.engine_health import (  # noqa: PLC0415
            engine_health,
            engines_of,
            runs_trouble,
        )
        from switchboard.providers.agents.work.engine_trust import EngineTrust  # noqa: PLC0415

        trouble, remedy = runs_trouble(settings.home)
        if trouble:
            yield Finding(severity="error", subject="runs", message=trouble, hint=remedy)

        users = engines_of(entry)
        for key, ready in engine_health(entry, settings.home, environ).items():
            tools = ", ".join(users[key])
            if not ready.problem:
                login = ready.login or "a login of which only its work tells"
                yield Finding(
                    severity="note",
                    subject="engine",
                    message=f"{key} {ready.version} with {login}, for {tools}",
                )
            if ready.problem or ready.hint:
                yield Finding(
                    severity="error" if ready.problem else "warning",
                    subject=f"engine {key}",
                    message=f"{ready.problem or ready.hint}; {tools} run on it",
                    hint=ready.hint if ready.problem else "",
                )
        for item in EngineTrust(settings, entry).items():
            if item.trust == "waiting":
                yield Finding(
                    severity="note",
                    subject="settings",
                    message=f"`{item.name}` is not trusted, so the engine does not follow it",
                    hint=f"switchboard trust {item.name}",
                )

    def _item(self, agent: Agent, entry: FoundAgents) -> Item:
        waits = agent.tool in entry.untrusted and entry.untrusted[agent.tool] is agent
        return Item(
            name=agent.tool,
            kind="agent",
            trust="waiting" if waits else "trusted" if agent.fingerprint else "own",
            fingerprint=agent.fingerprint,
            runs=summary_of(agent, entry),
            description=agent.description,
            sandbox=_sandbox(agent, entry),
            origin=agent.origin,
        )


def _sandbox(agent: Agent, entry: FoundAgents) -> str:
    """What the engine confines, and that it does not confine the servers."""
    mode, plan = agent.run.sandbox_mode or "", entry.plan(agent)
    own = (*agent.servers, *agent.remote_servers, *plan.injected, *plan.tools.references)
    return f"{mode}; the agent's servers run outside of it" if mode and own else mode


# What the map of models of a workspace is called where it is trusted.
MODELS_ITEM = "model-map.toml"
SOURCE = AgentSource()
