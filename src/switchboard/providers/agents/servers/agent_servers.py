"""The servers of a run: found, chosen, and in the form in which the engine starts them."""

import asyncio
import os
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from switchboard.children.schema import ServerEntry
from switchboard.engines.profile import AttachedServer
from switchboard.providers.agents.agent import Agent
from switchboard.providers.agents.servers.agent_seal import check_unchanged
from switchboard.providers.agents.servers.bridges import Bridges
from switchboard.providers.agents.servers.choice import Tools, choose
from switchboard.providers.agents.servers.depth import check_depth
from switchboard.providers.agents.servers.host_trust import trusts_host_file
from switchboard.providers.agents.servers.hosts import FoundServers, HostPlaces, discovered
from switchboard.providers.agents.servers.known_server import Attachments, KnownServer
from switchboard.providers.agents.servers.options import ServerOptions
from switchboard.providers.agents.servers.references import Reference, read_references
from switchboard.providers.agents.servers.tool_census import ToolCensus
from switchboard.providers.context import Context


class AgentServers:
    """Decides which servers the runs of one board get."""

    def __init__(self, context: Context, options: ServerOptions) -> None:
        self._context = context
        self._options = options

    async def attached(
        self,
        agent: Agent,
        *,
        references: Sequence[str] | None = None,
        injected: Sequence[AttachedServer] = (),
        depth: int = 0,
    ) -> Attachments:
        """The servers of a run of this agent.

        Raises a fault where too many runs stand above it, or its servers are not what was trusted.
        `references` are its tools after the tool map, and `injected` the servers that the map
        brings along; without them, its tools as they are written.
        """
        check_depth(depth)
        await asyncio.to_thread(check_unchanged, agent, self._context.settings.workspace)
        wanted = read_references(agent.tools if references is None else references)
        hosts = await asyncio.to_thread(self._hosts) if self._needs_others(wanted) else _NO_HOSTS
        known = self._known(agent, injected, hosts)
        notices = list(hosts.notices)
        tools = await self._enumerated(known, wanted, notices)
        choice = choose(known, wanted, self._options, tools)
        settings = self._context.settings
        bridges = Bridges(
            workspace=settings.workspace,
            home=settings.home,
            environ=self._context.environ,
            depth=depth,
            is_guarded=settings.is_guarded,
        )
        return Attachments(
            servers=tuple(
                _attachment(known[name], bridges, required=required)
                for name, required in choice.chosen.items()
            ),
            notices=(*notices, *choice.notices),
        )

    def _needs_others(self, wanted: Sequence[Reference]) -> bool:
        """Whether anything but the agent's own servers could be attached."""
        return bool(wanted) or not self._options.limit_mcp_to_referenced

    def _hosts(self) -> FoundServers:
        if not self._options.mcp_discovery:
            return _NO_HOSTS
        settings, environ = self._context.settings, self._context.environ
        return discovered(
            HostPlaces.of(settings.workspace, environ, self._options.vscode_user_mcp),
            environ,
            trusts_host_file(settings),
            skip_self=self._options.skip_self,
        )

    def _known(
        self, agent: Agent, injected: Sequence[AttachedServer], hosts: FoundServers
    ) -> dict[str, KnownServer]:
        """Every server that the agent could get, by name, each as the highest place has it."""
        known: dict[str, KnownServer] = {}
        if self._options.toolmap_allow_custom_servers:
            for each in injected:
                known[each.name] = KnownServer(name=each.name, source="map", launch=each)
        for name, launch in hosts.servers.items():
            known[name] = KnownServer(name=name, source="host", launch=launch)
        for entry in self._context.servers:
            known[entry.name] = KnownServer(
                name=entry.name, source="settings", configured=entry.name
            )
        # The servers of a workspace start there, wherever the run works.
        place = self._context.settings.workspace if agent.is_workspace else ""
        for each in agent.servers:
            launch = replace(each, start_in=place)
            known[each.name] = KnownServer(name=each.name, source="agent", launch=launch)
        for each in agent.remote_servers:
            known[each.name] = KnownServer(
                name=each.name, source="agent", configured=each.name, agent=_agent_place(agent)
            )
        return {name: self._through_us(each) for name, each in known.items()}

    def _through_us(self, server: KnownServer) -> KnownServer:
        """The same as a configured server, where it would start the very same process."""
        if server.launch is not None:
            for entry in self._context.servers:
                if _is_same(entry, server.launch):
                    return replace(server, launch=None, configured=entry.name)
        return server

    async def _enumerated(
        self, known: Mapping[str, KnownServer], wanted: Sequence[Reference], notices: list[str]
    ) -> Tools | None:
        """What the servers have that the references could mean; nothing where nobody asks."""
        if not self._options.enumerate or not wanted:
            return None
        names = {reference.server for reference in wanted}
        # A bare reference may mean any of them.
        asked = [
            each
            for each in known.values()
            # One that only a bridge finds is attached whatever it has.
            if ("" in names or each.name in names) and not each.agent
        ]
        most = self._options.enum_max_servers
        if len(asked) > most:
            notices.append(
                f"{len(asked)} servers could have the tools of this agent, and only the first"
                f" {most} were asked; raise `enum_max_servers`, or name servers as `server::tool`"
            )
        census = self._context.state.of(ToolCensus)
        found = await census.of(asked[:most], self._context, self._options.enum_timeout_ms / 1000)
        silent = [f"`{name}`" for name, tools in found.items() if tools is None]
        if silent:
            notices.append(f"{', '.join(silent)} could not be asked for tools in time")
        return found


_NO_HOSTS = FoundServers()


def _agent_place(agent: Agent) -> str:
    """The file of an agent, or its folder where the agent is one."""
    folder, name = os.path.split(agent.path)
    return folder if name == "AGENT.md" else agent.path


def _attachment(server: KnownServer, bridges: Bridges, *, required: bool) -> AttachedServer:
    if server.launch is None:
        return bridges.to(server.name, server.configured, agent=server.agent, required=required)
    return replace(server.launch, name=server.name, required=required)


def _is_same(entry: ServerEntry, launch: AttachedServer) -> bool:
    """Whether both start the same process; a name alone is what `PATH` makes of it."""
    one, other = entry.command, launch.command
    return (
        entry.transport == "stdio"
        and entry.args == launch.args
        and entry.env == launch.env
        and not entry.secret_env
        and (one == other or os.path.basename(one) == other or os.path.basename(other) == one)
    )
