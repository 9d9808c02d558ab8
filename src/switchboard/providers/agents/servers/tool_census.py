"""Which tools servers really have: asked of each once, when an agent needs to know."""

import asyncio
import hashlib
import secrets
from collections.abc import Iterable

import msgspec

from switchboard.children.pool import ChildPool
from switchboard.children.reaching.child_limits import ChildLimits
from switchboard.children.schema import ServerEntry
from switchboard.children.secrets.lookup import EnvironmentSecrets
from switchboard.core.faults import Fault
from switchboard.core.sessions import Session
from switchboard.engines.profile import AttachedServer
from switchboard.providers.agents.servers.known_server import KnownServer
from switchboard.providers.agents.work.conversation_folders import ConversationFolders
from switchboard.providers.context import Context

# Each is a process, or several.
_AT_ONCE = 4
# The start, the handshake and the list.
_PHASES = 3
_SESSION = Session(id="", via="agents", workspace="")


class ToolCensus:
    """Remembers what servers answered, for as long as they would be started in the same way."""

    def __init__(self) -> None:
        self._known: dict[str, frozenset[str]] = {}

    async def of(
        self, servers: Iterable[KnownServer], context: Context, timeout_s: float
    ) -> dict[str, frozenset[str] | None]:
        """The tools of each, by name; nothing for one that could not be asked in time."""
        places = asyncio.Semaphore(_AT_ONCE)

        async def one(server: KnownServer) -> frozenset[str] | None:
            async with places:
                try:
                    async with asyncio.timeout(timeout_s * _PHASES):
                        return await self._tools(server, context, timeout_s)
                except (Fault, OSError, TimeoutError):
                    return None

        wanted = list(servers)
        found = await asyncio.gather(*map(one, wanted))
        return {server.name: tools for server, tools in zip(wanted, found, strict=True)}

    async def _tools(
        self, server: KnownServer, context: Context, timeout_s: float
    ) -> frozenset[str] | None:
        if server.launch is not None:
            return await self._started(server.launch, context, timeout_s)
        source = context.children.get(server.configured)
        if source is None:
            return None
        session = msgspec.structs.replace(_SESSION, workspace=context.settings.workspace)
        return frozenset((await source.of(session).tools()).tools)

    async def _started(
        self, launch: AttachedServer, context: Context, timeout_s: float
    ) -> frozenset[str]:
        """Start it, ask it, and end it again."""
        digest = hashlib.sha256(msgspec.json.encode(launch)).hexdigest()
        known = self._known.get(digest)
        if known is not None:
            return known
        pool = ChildPool(
            environ=context.environ,
            secrets=EnvironmentSecrets(context.environ),
            events=context.events,
            reaper=context.reaper,
            book=context.book,
        )
        entry = ServerEntry(
            name=launch.name,
            transport="stdio",
            command=launch.command,
            args=launch.args,
            env=launch.env,
            cwd=launch.start_in or await asyncio.to_thread(_empty_folder, context.settings.home),
        )
        limits = ChildLimits(spawn_s=timeout_s, rpc_s=timeout_s, idle_s=0.0, longest_s=timeout_s)
        try:
            listing = await pool.child(entry, limits).tools()
        finally:
            await pool.aclose()
        tools = frozenset(listing.tools)
        self._known[digest] = tools
        return tools

    async def aclose(self) -> None:
        """Nothing: what it starts, it ends."""


def _empty_folder(home: str) -> str:
    """Where a server starts that belongs to no workspace: nobody else has written there.

    Interpreters and package runners take modules and settings from where they start. It goes with
    the folders of conversations.
    """
    return ConversationFolders(home).make_start(f"census-{secrets.token_hex(8)}")
