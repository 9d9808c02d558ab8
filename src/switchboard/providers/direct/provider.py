"""Servers under their own names: tools shown one by one, prompts, resources, completions."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import chain
from typing import Any, cast

import msgspec
from msgspec import Raw, Struct
from msgspec.json import encode
from msgspec.structs import replace

from switchboard.children.inbound.sizes import MOST_BLOCKS, too_many_blocks
from switchboard.children.listings.collector import ListingCollector, known_listings, recall
from switchboard.children.listings.held_tools import Held, held_tools
from switchboard.children.listings.host_rules import shows_to_model
from switchboard.children.listings.listing import Listing, ToolListing
from switchboard.children.results import malformed_result, passed_through, with_root
from switchboard.children.server_launches import ServerLaunches
from switchboard.children.trees.faults import follows_nobody, in_meta
from switchboard.children.trees.tree_choice import placed, settled
from switchboard.core.calls.call import Call, Outcome
from switchboard.core.calls.contents import ContentRequest, Reading
from switchboard.core.calls.launches import Launch, nothing_agreed
from switchboard.core.catalog.offers import Kind, Offer
from switchboard.core.catalog.tools import Policy, ToolSpec
from switchboard.core.catalog.visibility import Visibility
from switchboard.core.channels.channel import ROOTS_CHANGED, Channel
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.identity_cache import IdentityCache
from switchboard.core.loop.tasks import TaskSet
from switchboard.core.sessions import Session
from switchboard.providers.direct.exposure import DirectExposure
from switchboard.providers.direct.tool_index import (
    EVERYTHING,
    PROVIDER,
    Found,
    ToolIndex,
    ToolPlace,
    index_contents,
    index_tools,
)


class _Located(Struct):
    uri: str = ""


_read_members = msgspec.json.Decoder(dict[str, Raw]).decode
_read_contents = msgspec.json.Decoder(list[Raw]).decode
_read_located = msgspec.json.Decoder(_Located).decode


class DirectProvider:
    """Everything that servers offer beside suites."""

    key = PROVIDER

    def __init__(
        self,
        exposures: Iterable[DirectExposure],
        *,
        announce: Callable[[str, str], None],
        # Whether somebody judges what calls do: then tools count as their children list them now.
        is_guarded: bool = False,
        # Which tools nobody is told of, because their server has changed them.
        held: Held | None = None,
        visibility: Visibility = EVERYTHING,
        # Keeps the instructions of a server, for clients that begin later. For a thread.
        learn: Callable[[str, str, ToolListing | None], None] = lambda _, __, ___: None,
    ) -> None:
        self._exposures = {each.name: each for each in exposures}
        self._showing = tuple(each for each in self._exposures.values() if each.shows_tools)
        self._relaying = tuple(each for each in self._exposures.values() if each.relays)
        self._has_choice = any(
            each.children.accounts is not None or each.children.trees is not None
            for each in self._showing
        )
        self._following = tuple(
            each for each in self._exposures.values() if each.children.trees is not None
        )
        self._announce = announce
        self._is_guarded = is_guarded
        self._held = held
        self._visibility = visibility
        self._collector = ListingCollector(announce)
        self._learn = learn
        self._learned: dict[str, tuple[str, Listing | None]] = {}
        self._tasks = TaskSet()
        self._indexes: IdentityCache[ToolIndex] = IdentityCache()
        self.owners: Collection[str] = [each.name for each in self._relaying]

    # Offers

    async def offers(
        self, kind: Kind, session: Session, channel: Channel | None, wanted: str = ""
    ) -> tuple[Offer, ...]:
        if kind == "subtools":
            return ()
        if self._following:
            # Of a call by its name the client is asked when it is known what it is about.
            session = await self._settled(session, None if wanted else channel)
        if kind == "tools":
            index = await self._tools(session, channel, wanted)
            # Who calls a tool by its name is told what is wrong with it.
            return index.offers if wanted else await self._unheld(index, session)
        found = await self._collector.collect(
            kind, self._relaying, session, channel, with_late=bool(wanted)
        )
        return self._index(kind, found, session).offers

    async def _settled(self, session: Session, channel: Channel | None) -> Session:
        """The session in the worktree where it is, with the servers that follow it there."""

        def tell(exposure: DirectExposure, fault: Fault) -> None:
            _tell_missing(channel, exposure.name, fault)

        return await settled(self._following, session, channel, tell)

    async def _unheld(self, index: ToolIndex, session: Session) -> tuple[Offer, ...]:
        """The tools without those that are held."""
        if self._held is None:
            return index.offers
        by_server: dict[DirectExposure, dict[str, tuple[ToolSpec, str]]] = {}
        for spec, place in index.places.items():
            by_server.setdefault(place.exposure, {})[spec.name] = (spec, place.own)
        held: set[ToolSpec] = set()
        for exposure, tools in by_server.items():
            names = await held_tools(
                self._held,
                exposure.launches,
                exposure.children,
                session,
                names=tools,
                tool=tools.__getitem__,
            )
            held |= {tools[name][0] for name in names}
        return (
            tuple(each for each in index.offers if each.spec not in held) if held else index.offers
        )

    async def _tools(self, session: Session, channel: Channel | None, wanted: str) -> ToolIndex:
        """The tools as soon as one of this name is among them, else all of them."""
        await recall("tools", self._showing, session)
        known = self._known_tools(session)
        if wanted in known.tools:
            return known
        found = await self._collector.collect(
            "tools",
            self._showing,
            session,
            channel,
            is_enough=lambda: wanted in self._known_tools(session).tools,
            failed=lambda exposure, fault: _tell_missing(channel, exposure.name, fault),
        )
        self._learn_from(session)
        return self._index("tools", found, session)

    def _learn_from(self, session: Session) -> None:
        """Have the instructions of servers kept that run now, each once."""
        for exposure in self._showing:
            child = exposure.children.shown_to(session)
            if child is None or not child.is_running:
                continue
            said, listing = child.connection.greeting.instructions, child.listings.known("tools")
            if self._learned.get(exposure.name) != (said, listing):
                self._learned[exposure.name] = (said, listing)
                listed = cast("ToolListing | None", listing)
                self._tasks.start(asyncio.to_thread(self._learn, exposure.name, said, listed))

    def _known_tools(self, session: Session) -> ToolIndex:
        found = known_listings("tools", self._showing, session)
        return self._index("tools", found, session)

    def _index(self, kind: Kind, found: Sequence[Found], session: Session) -> ToolIndex:
        for_host = shows_to_model(session.client)
        return self._indexes.get(
            chain.from_iterable(found),
            lambda: (
                index_tools(found, self._visibility, for_host=for_host)
                if kind == "tools"
                else index_contents(found)
            ),
            kind=f"{kind} for a host" if for_host else kind,
        )

    # Calls

    def specs(self) -> Sequence[ToolSpec]:
        """None: what servers have is known when they run."""
        return ()

    async def narrow(self, call: Call) -> Call:
        if self._has_choice or call.session.worktree:
            call = await self._chosen(call)
        if not self._is_guarded:
            return call
        # It may be recalled, or its process be gone: only the one that will run it knows what it
        # is now, or why it cannot say.
        place = await self._place(call)
        await place.exposure.children.of(call.session).tools_now(call.channel)
        spec = self._known_tools(call.session).tools.get(call.tool.name)
        if spec is None:
            raise _gone(call.tool.name)
        return replace(call, tool=spec)

    async def launch(self, call: Call) -> Launch | None:
        if not self._is_guarded:
            place = await self._place(call)
            return _launches(place, call).named(call.tool, place.own)
        # The child may have changed the tool since the call was made.
        index = self._known_tools(call.session)
        spec = index.tools.get(call.tool.name)
        if spec is None:
            return nothing_agreed(call.tool)
        place = index.places[spec]
        child = place.exposure.children.of(call.session)
        link = child.connection.link
        if link is None:
            return nothing_agreed(call.tool)
        child.check_login(place.own, call.arguments)
        return replace(_launches(place, call).named(spec, place.own), judged=link)

    async def invoke(self, call: Call) -> Outcome:
        assert call.launch is not None, "every tool of a server has a launch"
        exposure = self._exposures.get(call.launch.server)
        if exposure is None:
            raise _gone(call.tool.name)
        child = exposure.children.of(call.session)
        is_cold = not child.is_running
        try:
            result = await child.call(
                call.launch.own_name, call.arguments, call.channel, call.launch.judged
            )
        except asyncio.CancelledError:
            if call.clock.has_rung:
                child.doubt(call.clock, call.tool.policy.timeout_s)
            raise
        finally:
            if is_cold:
                child.count_start(call.clock)
        outcome = passed_through(result, is_modern=child.is_modern)
        return outcome if call.session.tree is None else with_root(outcome, call.session.tree)

    async def _chosen(self, call: Call) -> Call:
        """The call with the account that it uses, or the worktree that it is about.

        Whatever becomes of the repository meanwhile.
        """
        exposure = (await self._place(call)).exposure
        accounts, trees = exposure.children.accounts, exposure.children.trees
        if trees is not None:
            return await placed(call, trees, call.arguments, naming=in_meta)
        if call.session.worktree:
            raise follows_nobody(exposure.name)
        if accounts is None:
            return call
        account = accounts.choose(call.session)
        return replace(call, session=replace(call.session, account=account))

    async def _place(self, call: Call) -> ToolPlace:
        index = await self._tools(call.session, call.channel, call.tool.name)
        place = index.places.get(call.tool)
        if place is None:
            # The listing has changed since the name was looked up.
            spec = index.tools.get(call.tool.name)
            if spec is None:
                raise _gone(call.tool.name)
            place = index.places[spec]
        return place

    # Prompts and resources

    @property
    def content_policy(self) -> Policy:
        limits = [each.children.limits for each in self._exposures.values()]
        return Policy(
            timeout_s=max((each.rpc_s for each in limits), default=None),
            longest_s=max((each.longest_s for each in limits), default=None),
        )

    def unlisted(self, session: Session) -> Sequence[str]:
        children = ((each.name, each.children.shown_to(session)) for each in self._relaying)
        return [
            name
            for name, child in children
            if child is not None
            and child.is_running
            and child.connection.greeting.offers("resources")
        ]

    def awaits(self, kind: Kind) -> bool:
        return kind != "subtools" and self._collector.awaits(kind)

    async def fetch(self, call: Call, offer: Offer, request: ContentRequest) -> Outcome:
        exposure = self._exposures[offer.owner]
        if call.session.account is not None:
            # Raises a fault where there is none of that name.
            exposure.launches.of_account(call.session.account)
        session, trees = call.session, exposure.children.trees
        if trees is not None:
            session = (await placed(call, trees, naming=in_meta)).session
        elif session.worktree:
            raise follows_nobody(exposure.name)
        child = exposure.children.of(session)
        result = await child.conversation.ask(
            call.tool.name, request.params(offer.own), call.channel
        )
        if isinstance(request, Reading) and request.uri != offer.own:
            result = _with_uri(result, offer.own, request.uri)
        outcome = passed_through(result, is_modern=child.is_modern)
        return outcome if session.tree is None else with_root(outcome, session.tree)

    async def follow(
        self, offer: Offer, session: Session, tell: Callable[[str], None]
    ) -> Callable[[], None]:
        if self._following:
            session = await self._settled(session, None)
        return await self._exposures[offer.owner].children.of(session).subscribe(offer.own, tell)

    def pass_on(self, method: str, session: Session) -> None:
        for exposure in self._exposures.values():
            child = exposure.children.shown_to(session)
            if child is not None and child.is_running:
                child.conversation.notify(method)
        if self._following and method == ROOTS_CHANGED:
            for exposure in self._following:
                assert exposure.children.trees is not None, "it follows"
                exposure.children.trees.moved(session)
            self._announce_anew(session.id)

    def _announce_anew(self, session_id: str) -> None:
        """What servers list in the next worktree may be something else."""
        if any(each.shows_tools for each in self._following):
            self._announce("tools", session_id)
        if any(each.relays for each in self._following):
            self._announce("prompts", session_id)
            self._announce("resources", session_id)

    async def aclose(self) -> None:
        """The pool owns the children."""
        await self._tasks.wait()
        await self._collector.aclose()


def _launches(place: ToolPlace, call: Call) -> ServerLaunches:
    launches, account = place.exposure.launches, call.session.account
    if place.exposure.children.trees is not None:
        return place.exposure.children.trees.launches(call.session, launches)
    return launches if account is None else launches.of_account(account)


def _with_uri(raw: Raw, own: str, shown: str) -> Raw:
    """A child's contents under the URI that the client knows."""
    try:
        body = _read_members(raw)
        listed = _read_contents(body["contents"])
        if len(listed) > MOST_BLOCKS:
            raise too_many_blocks()
        contents = [_renamed(each, own, shown) for each in listed]
    except (msgspec.MsgspecError, KeyError) as error:
        raise malformed_result(error) from None
    return Raw(encode({**body, "contents": contents}))


def _renamed(content: Raw, own: str, shown: str) -> Raw | dict[str, Any]:
    if _read_located(content).uri != own:
        return content
    return {**_read_members(content), "uri": shown}


def _tell_missing(channel: Channel | None, server: str, fault: Fault) -> None:
    """Name the server whose tools the listing lacks: it looks like any other without them."""
    if channel is not None:
        words = f"the tools of `{server}` are missing: {fault.message}"
        message = {"level": "warning", "logger": "switchboard", "data": words}
        channel.log("warning", encode(message))


def _gone(name: str) -> Fault:
    return Fault(
        FaultCode.NOT_FOUND, "unknown-tool", f"no tool `{name}`", hint="list the tools again"
    )
