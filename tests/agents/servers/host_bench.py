"""A workspace with hosts and agents in it, and the servers that a run there would get."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support.workspace import Json, Workspace, child_command
from switchboard.children.pool import ChildPool
from switchboard.children.reaching.child_limits import ChildLimits
from switchboard.children.secrets.lookup import EnvironmentSecrets
from switchboard.core.bus import EventBus
from switchboard.core.privacy.secrets import SecretBook
from switchboard.engines.profile import AttachedServer
from switchboard.providers.agents.agent import Agent, RemoteServer
from switchboard.providers.agents.options import AgentOptions
from switchboard.providers.agents.servers.agent_servers import AgentServers
from switchboard.providers.agents.servers.known_server import Attachments
from switchboard.providers.context import Context, State
from switchboard.results.store import ResultStore
from switchboard.settings.load import load_settings
from switchkit.reaper_client import Reaper

LIMITS = ChildLimits(spawn_s=30, rpc_s=30, idle_s=0, longest_s=60)


class HostBench:
    """Writes the files of hosts, and says what an agent gets."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.environ = dict(workspace.env)
        self.reaper = Reaper()
        self.events = EventBus()
        self.state = State()
        self._pools: list[ChildPool] = []

    @property
    def home(self) -> Path:
        return self.workspace.user_home

    def write(self, path: Path, tree: Json | str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(tree if isinstance(tree, str) else json.dumps(tree), "utf-8")
        return path

    def claude_project(self, **servers: Json) -> Path:
        return self.write(self.workspace.root / ".mcp.json", {"mcpServers": servers})

    def claude_user(self, **tree: Any) -> Path:
        return self.write(self.home / ".claude.json", tree)

    def vscode_project(self, tree: Json | str) -> Path:
        return self.write(self.workspace.root / ".vscode" / "mcp.json", tree)

    def cursor_user(self, **servers: Json) -> Path:
        return self.write(self.home / ".cursor" / "mcp.json", {"mcpServers": servers})

    async def attached(
        self,
        *tools: str,
        servers: Sequence[AttachedServer] = (),
        injected: Sequence[AttachedServer] = (),
        depth: int = 0,
        remote: Sequence[str] = (),
        path: str = "",
        **options: Any,
    ) -> Attachments:
        """What a run of an agent with these tools gets."""
        agent = Agent(
            name="helper",
            safe_name="helper",
            tool="agent_helper",
            format="codex",
            tools=tools,
            servers=tuple(servers),
            remote_servers=tuple(
                RemoteServer(name=name, target="https://example.com") for name in remote
            ),
            path=path,
        )
        return await self.attached_to(agent, injected=injected, depth=depth, **options)

    async def attached_to(
        self,
        agent: Agent,
        *,
        injected: Sequence[AttachedServer] = (),
        depth: int = 0,
        **options: Any,
    ) -> Attachments:
        """What a run of this agent gets."""
        settings = await asyncio.to_thread(
            load_settings, workspace=str(self.workspace.root), environ=self.environ
        )
        pool = ChildPool(
            environ=self.environ,
            secrets=EnvironmentSecrets(self.environ),
            events=self.events,
            reaper=self.reaper,
        )
        self._pools.append(pool)
        context = Context(
            settings=settings,
            environ=self.environ,
            reaper=self.reaper,
            events=self.events,
            state=self.state,
            results=ResultStore(),
            book=SecretBook(),
            servers=settings.servers,
            children={entry.name: pool.source(entry, LIMITS) for entry in settings.servers},
        )
        chosen = AgentServers(context, AgentOptions(**options))
        return await chosen.attached(agent, injected=injected, depth=depth)

    async def names(self, *tools: str, **more: Any) -> list[str]:
        return [server.name for server in (await self.attached(*tools, **more)).servers]

    async def aclose(self) -> None:
        for pool in self._pools:
            await pool.aclose()
        self.reaper.close()


def echo(name: str = "echo") -> Json:
    """A server that can be started, as hosts write it."""
    command, *args = child_command("echo_child", name)
    return {"command": command, "args": args}
