"""The servers of a run: found, chosen, and in the form in which the engine starts them."""

import asyncio
import os
from collections.abc import Sequence

from switchboard.children.schema import ServerEntry
from switchboard.engines.profile import AttachedServer
from switchboard.providers.agents.agent import Agent
from switchboard.providers.agents.servers.bridges import Bridges
from switchboard.providers.agents.servers.choice import choose
from switchboard.providers.agents.servers.depth import check_depth
from switchboard.providers.agents.servers.known_server import Attachments, KnownServer
from switchboard.providers.agents.servers.options import ServerOptions
from switchboard.providers.agents.servers.references import read_references
from switchboard.providers.context import Context


class AgentServers:
    """Decides which servers the runs of one board get."""

    def __init__(self, context: Context, options: ServerOptions, *, config: str = "") -> None:
        self._context = context
        self._options = options
        self._config = config

    async def attached(
        self,
        agent: Agent,
        *,
        references: Sequence[str] | None = None,
        injected: Sequence[AttachedServer] = (),
        depth: int = 0,
    ) -> Attachments:
        """The servers of a run of this agent. Raises a fault where too many runs stand above it.

        `references` are its tools after the tool map, and `injected` the servers that the map
        brings along; without them, its tools as they are written.
        """
        check_depth(depth)
        wanted = read_references(agent.tools if references is None else references)
        known = await asyncio.to_thread(self._known, agent, injected)
        choice = choose(known, wanted, self._options)
        settings = self._context.settings
        bridges = Bridges(
            workspace=settings.workspace,
            home=settings.home,
            environ=self._context.environ,
            depth=depth,
            config=self._config,
        )
        return Attachments(
            servers=tuple(
                _attachment(known[name], bridges, required=required)
                for name, required in choice.chosen.items()
            ),
            notices=choice.notices,
        )

    def _known(self, agent: Agent, injected: Sequence[AttachedServer]) -> dict[str, KnownServer]:
        """Every server that the agent could get, by name, each as the highest place has it."""
        known: dict[str, KnownServer] = {}
        if self._options.toolmap_allow_custom_servers:
            for each in injected:
                known[each.name] = KnownServer(name=each.name, source="map", launch=each)
        for entry in self._context.servers:
            known[entry.name] = KnownServer(
                name=entry.name, source="settings", configured=entry.name
            )
        for each in agent.servers:
            known[each.name] = KnownServer(name=each.name, source="agent", launch=each)
        return {
            name: self._through_us(each) if each.launch is not None else each
            for name, each in known.items()
        }

    def _through_us(self, server: KnownServer) -> KnownServer:
        """The same as a configured server, where it would start the very same process."""
        launch = server.launch
        assert launch is not None
        for entry in self._context.servers:
            if _is_same(entry, launch):
                return KnownServer(name=server.name, source=server.source, configured=entry.name)
        return server


def _attachment(server: KnownServer, bridges: Bridges, *, required: bool) -> AttachedServer:
    if server.launch is None:
        return bridges.to(server.name, server.configured, agent=server.agent, required=required)
    launch = server.launch
    return AttachedServer(
        name=server.name,
        command=launch.command,
        args=launch.args,
        env=launch.env,
        required=required,
    )


def _is_same(entry: ServerEntry, launch: AttachedServer) -> bool:
    return (
        entry.transport == "stdio"
        and entry.args == launch.args
        and entry.env == launch.env
        and not entry.secret_env
        and (
            entry.command == launch.command
            or os.path.basename(entry.command) == launch.command
            or os.path.basename(launch.command) == entry.command
        )
    )
