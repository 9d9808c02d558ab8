"""Serving other gateways what they forward: requests for servers that this one runs.

They come in the modern era, each with whom it is for. Whether a call may be made was judged, and
written down, where its client is: here it meets no gate.
"""

import asyncio
import os
import time
from urllib.parse import unquote

from msgspec import Raw
from msgspec.structs import replace

from switchboard.children.http.forwarded import HOLDER, NOT_HERE
from switchboard.children.schema import ServerEntry
from switchboard.core.board import Board
from switchboard.core.bus import EventBus
from switchboard.core.catalog.visibility import Visibility
from switchboard.core.people import Person
from switchboard.core.sessions import Session
from switchboard.daemon.board.lease import CurrentBoard
from switchboard.daemon.board.runtime import Runtime
from switchboard.daemon.team.membership import Team
from switchboard.daemon.team.singletons import SIGNED, TeamSingletons
from switchboard.pipeline.order import build_road
from switchboard.settings.sections import Settings, ToolFilters
from switchboard.surface.endpoint import Endpoint
from switchboard.surface.http.exchange import RELAYED, BodyBudget, Exchange, Refusal, closing
from switchboard.surface.http.listener import SINGLETONS_PATH
from switchboard.surface.http.modern import ModernEra
from switchboard.surface.sink import Sink
from switchboard.surface.suspended_calls import SuspendedCalls
from switchboard.wire.frames import MAX_MESSAGE_BYTES


class SingletonRoutes:
    """Everything below the path of singletons. Known to gateways of the team alone."""

    def __init__(self, team: Team, runtime: Runtime, singletons: TeamSingletons) -> None:
        self._team = team
        self._runtime = runtime
        self._singletons = singletons
        self._unfinished = BodyBudget()
        self._is_closing = False
        # By server, each with the settings that it was made of.
        self._served: dict[str, tuple[Settings, ModernEra]] = {}
        self._making = asyncio.Lock()
        singletons.on_changed = self._changed

    async def serve(self, exchange: Exchange) -> None:
        """Answer one request. Raises Refusal."""
        vouched = self._team.believe(exchange.header(RELAYED) or "") or ""
        if not vouched.startswith(SIGNED):
            raise Refusal(403, "this is for gateways of the team")
        if self._is_closing:
            raise closing()
        server = unquote(exchange.path.removeprefix(SINGLETONS_PATH))
        if not self._singletons.is_held(server):
            raise Refusal(NOT_HERE, f"{NOT_HERE}: this gateway does not run it")
        exchange.client_address = f"{vouched}/{exchange.header(HOLDER) or ''}"
        era = await self._era(server)
        await era.post(exchange, await exchange.body(MAX_MESSAGE_BYTES, self._unfinished))

    async def aclose(self) -> None:
        """Take nothing new in, and end what is under way and every stream."""
        self._is_closing = True
        for _, era in self._served.values():
            await era.aclose()

    def _changed(self, server: str, kind: str) -> None:
        if (served := self._served.get(server)) is not None:
            served[1].changed(kind, "")

    async def _era(self, server: str) -> ModernEra:
        async with self._making:
            settings = self._runtime.settings
            known = self._served.get(server)
            if known is not None and known[0] is settings:
                return known[1]
            board = await self._board(server, settings)
            era = self._served[server] = settings, self._serving(board)
            return era[1]

    async def _board(self, server: str, settings: Settings) -> Board:
        entry = next((each for each in settings.servers if each.label == server), None)
        if entry is None:
            raise Refusal(NOT_HERE, f"{NOT_HERE}: this gateway does not know it")
        alone = _alone(settings, entry)
        assembly = await asyncio.to_thread(self._runtime.assemble, alone)
        built = self._runtime.engine.build(alone, assembly)
        road = build_road(built.providers, Visibility(), EventBus())
        return Board(
            catalog=assembly.catalog,
            pipeline=road,
            directory=lambda: built.directory,
            listing=frozenset(kind for each in assembly.listed.values() for kind in each.offers),
        )

    def _serving(self, board: Board) -> ModernEra:
        boards = CurrentBoard(board)
        suspended = SuspendedCalls()

        def endpoint(sink: Sink, address: str, person: Person | None) -> Endpoint:
            del person  # judged where the client is
            session = Session(
                id=os.urandom(5).hex(),
                via="http",
                workspace=self._runtime.settings.workspace,
                started_at=time.time(),
                entrance=address,
            )
            return Endpoint(
                boards,
                session,
                sink=sink,
                instructions=lambda: "",
                suspended_calls=suspended,
            )

        return ModernEra(endpoint, _unchecked)


def _alone(settings: Settings, entry: ServerEntry) -> Settings:
    """One server under its own names, and nobody is asked."""
    shown = replace(entry, expose="tools", tool_prefix="", relay=True)
    return replace(
        settings,
        servers=(shown,),
        untrusted=(),
        omitted=(),
        sources={},
        tools=ToolFilters(),
        is_guarded=False,
    )


async def _unchecked(name: str, capabilities: object, person: Person | None) -> Raw | None:
    """No header repeats arguments: gateways know nothing of schemas of each other."""
    del name, capabilities, person
    return None
