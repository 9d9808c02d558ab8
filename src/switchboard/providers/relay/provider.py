"""Children under their own names: tools shown one by one, prompts, resources, completions."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import cast

from msgspec import Raw
from msgspec.structs import replace

from switchboard.children.child import Child
from switchboard.children.listings.listing import Kind, Listing
from switchboard.children.results import passed_through
from switchboard.core.calls import Call, Outcome
from switchboard.core.channel import Channel
from switchboard.core.events import NamesClashed
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.launches import Launch
from switchboard.core.ports import Events, ShownTool
from switchboard.core.sessions import Session
from switchboard.core.tasks import TaskSet
from switchboard.core.tools import ToolSpec
from switchboard.core.visibility import Visibility
from switchboard.providers.relay.offering import Offering
from switchboard.providers.relay.requests import read_request, specs_for
from switchboard.providers.relay.routes import Routes
from switchboard.providers.relay.shelf import Found, Place, Shelf, Shelves, put_together
from switchboard.providers.relay.toolbox import PROVIDER, Toolbox, fill

# Who has not listed by then is announced when it has.
PATIENCE_S = 10.0


class RelayProvider:
    """Everything that children offer beside suites."""

    key = PROVIDER

    def __init__(
        self,
        offerings: Iterable[Offering],
        *,
        visibility: Visibility,
        # Whether a folded name belongs to a tool of the catalog.
        taken: Callable[[str], bool],
        events: Events,
        announce: Callable[[str, str], None],
        # Whether somebody judges what calls do: then tools count as their children list them now.
        is_guarded: bool = False,
    ) -> None:
        self._offerings = tuple(offerings)
        self._by_server = {each.name: each for each in self._offerings}
        self._showing = tuple(each for each in self._offerings if each.shows_tools)
        self._specs = specs_for(each.children.limits for each in self._offerings)
        self._visibility = visibility
        self._taken = taken
        self._events = events
        self._announce = announce
        self._is_guarded = is_guarded
        self._tasks = TaskSet()
        self._shelves = Shelves()
        self._told: set[str] = set()
        # Who was waited for in vain, and is still listing.
        self._late: set[tuple[Kind, Child]] = set()

    # The port of the surface

    async def tools(self, session: Session, channel: Channel | None) -> Mapping[str, ShownTool]:
        return (await self._toolbox(session, channel)).tools

    async def tool(self, name: str, session: Session, channel: Channel | None) -> ToolSpec | None:
        shown = (await self._toolbox_with(name, session, channel)).tools.get(name)
        return None if shown is None else shown.spec

    async def entries(self, kind: str, session: Session, channel: Channel | None) -> Sequence[Raw]:
        return (await self._shelf(cast("Kind", kind), session, channel)).entries

    def spec(self, method: str) -> ToolSpec | None:
        return self._specs.get(method)

    async def follow(
        self, uri: str, session: Session, tell: Callable[[str], None]
    ) -> Callable[[], None]:
        place = await self._routes(session, None).resource(uri)
        child = place.offering.children.of(session)
        # A part has the name of the whole, as the client knows it, and then its own.
        return await child.subscribe(
            place.own, lambda updated: tell(uri + updated.removeprefix(place.own))
        )

    def pass_on(self, method: str, session: Session) -> None:
        for offering in self._offerings:
            child = offering.children.of(session)
            if child.is_running:
                child.notify(method)

    # The port of the road

    def specs(self) -> Sequence[ToolSpec]:
        return tuple(self._specs.values())

    async def narrow(self, call: Call) -> Call:
        if not self._is_guarded or not call.tool.is_tool:
            return call
        shown = self._known_toolbox(call.session).tools.get(call.tool.name)
        if shown is None:
            # It was recalled: its own child alone knows what it is now, or why it cannot say.
            place = await self._place(call)
            await place.offering.children.of(call.session).tools(call.channel)
            shown = self._known_toolbox(call.session).tools.get(call.tool.name)
        if shown is None:
            raise _gone(call.tool.name)
        return replace(call, tool=shown.spec)

    async def launch(self, call: Call) -> Launch | None:
        if not call.tool.is_tool:
            return None
        if not self._is_guarded:
            place = await self._place(call)
            return place.offering.launches.named(call.tool, place.own)
        # The child may have changed the tool since the call was made.
        toolbox = self._known_toolbox(call.session)
        shown = toolbox.tools.get(call.tool.name)
        if shown is None:
            # Nobody knows what it is now, so nothing that was agreed to can be meant.
            return Launch(tool=call.tool, server="", fingerprint="", runs="", cwd="")
        place = toolbox.places[shown.spec]
        return place.offering.launches.named(shown.spec, place.own)

    async def invoke(self, call: Call) -> Outcome:
        if call.launch is not None:
            offering = self._by_server.get(call.launch.server)
            if offering is None:
                raise _gone(call.tool.name)
            child = offering.children.of(call.session)
            result = await child.call(call.launch.own_name, call.arguments, call.channel)
            return passed_through(result, is_modern=child.is_modern)
        request = read_request(call.tool.name, call.arguments)
        place = await request.place(self._routes(call.session, call.channel))
        child = place.offering.children.of(call.session)
        result = await child.ask(call.tool.name, request.params(place), call.channel)
        return passed_through(request.result(place, result), is_modern=child.is_modern)

    async def _place(self, call: Call) -> Place:
        toolbox = await self._toolbox_with(call.tool.name, call.session, call.channel)
        place = toolbox.places.get(call.tool)
        if place is None:
            # The listing has changed since the name was looked up.
            shown = toolbox.tools.get(call.tool.name)
            if shown is None:
                raise _gone(call.tool.name)
            place = toolbox.places[shown.spec]
        return place

    async def aclose(self) -> None:
        """The pool owns the children."""
        await self._tasks.aclose()

    # What the children list

    async def _toolbox(self, session: Session, channel: Channel | None) -> Toolbox:
        return self._filled(await self._listings("tools", self._showing, session, channel))

    async def _toolbox_with(self, name: str, session: Session, channel: Channel | None) -> Toolbox:
        """The tools as soon as one of this name is among them, else all of them."""
        toolbox = self._known_toolbox(session)
        if name in toolbox.tools:
            return toolbox
        found = await self._listings(
            "tools",
            self._showing,
            session,
            channel,
            is_enough=lambda: name in self._known_toolbox(session).tools,
        )
        return self._filled(found)

    def _known_toolbox(self, session: Session) -> Toolbox:
        """The tools of the children that have listed them: nobody waits for the others."""
        listings = [(each, each.children.of(session).known("tools")) for each in self._showing]
        return self._filled([(each, known) for each, known in listings if known is not None])

    def _filled(self, found: Sequence[Found]) -> Toolbox:
        toolbox: Toolbox = self._shelves.get(
            0, found, lambda: fill(found, self._visibility, self._taken)
        )
        self._tell(toolbox.clashes)
        return toolbox

    async def _shelf(self, kind: Kind, session: Session, channel: Channel | None) -> Shelf:
        offerings = [each for each in self._offerings if each.relays]
        found = await self._listings(kind, offerings, session, channel)
        # Empty listings are all the same one, so the kind is part of what tells shelves apart.
        mark = 1 + ("prompts", "resources", "templates").index(kind)
        return self._shelves.get(mark, found, lambda: put_together(kind, found))

    async def _listings(
        self,
        kind: Kind,
        offerings: Sequence[Offering],
        session: Session,
        channel: Channel | None,
        *,
        is_enough: Callable[[], bool] = lambda: False,
    ) -> list[Found]:
        """Side by side. A child that cannot list is left out; its own fault is told elsewhere."""
        found: dict[int, Listing] = {}
        waiting: dict[asyncio.Task[Listing], tuple[int, Child]] = {}
        for index, offering in enumerate(offerings):
            child = offering.children.of(session)
            known = child.known(kind)
            if known is None:
                known = child.remembered(kind)
            if known is not None:
                found[index] = known
            elif (kind, child) not in self._late:
                waiting[self._tasks.start(child.offered(kind, channel))] = (index, child)
        late = await _first_of(set(waiting), PATIENCE_S, is_enough)
        for task, (index, child) in waiting.items():
            if task in late:
                self._await_late(task, kind, child, session)
            elif task.done() and not task.cancelled() and task.exception() is None:
                found[index] = task.result()
            elif (known := child.known(kind)) is not None:
                # Another asked for the same, and was told first.
                found[index] = known
        return [(offerings[index], found[index]) for index in sorted(found)]

    def _await_late(
        self, task: "asyncio.Task[Listing]", kind: Kind, child: Child, session: Session
    ) -> None:
        """Nobody waits for it a second time; when it has listed, the client is told."""
        self._late.add((kind, child))

        def arrived(task: "asyncio.Task[Listing]") -> None:
            self._late.discard((kind, child))
            if not task.cancelled() and task.exception() is None:
                self._announce(_feature(kind), session.id)

        task.add_done_callback(arrived)

    def _routes(self, session: Session, channel: Channel | None) -> Routes:
        return Routes(
            self._offerings,
            lambda kind: self._shelf(kind, session, channel),
            lambda offering: _can_read(offering.children.of(session)),
        )

    def _tell(self, clashes: Iterable[str]) -> None:
        for clash in clashes:
            if clash not in self._told:
                self._told.add(clash)
                self._events.emit(NamesClashed(message=clash))


async def _first_of(
    waiting: "set[asyncio.Task[Listing]]", patience_s: float, is_enough: Callable[[], bool]
) -> "set[asyncio.Task[Listing]]":
    """Wait for all of them, or for enough. Gives those that took too long."""
    until = asyncio.get_running_loop().time() + patience_s
    while waiting and not is_enough():
        left = until - asyncio.get_running_loop().time()
        done, waiting = await asyncio.wait(
            waiting, timeout=left, return_when=asyncio.FIRST_COMPLETED
        )
        if not done:
            return waiting
    return set()


def _feature(kind: Kind) -> str:
    return "resources" if kind == "templates" else kind


def _can_read(child: Child) -> bool:
    return child.is_running and child.can("resources")


def _gone(name: str) -> Fault:
    return Fault(
        FaultCode.NOT_FOUND, "unknown-tool", f"no tool `{name}`", hint="list the tools again"
    )
