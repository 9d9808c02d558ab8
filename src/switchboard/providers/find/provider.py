"""Finds tools, and turns calls by their address into calls of exactly these tools."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec import Raw
from msgspec.json import encode
from msgspec.structs import replace

from switchboard.core.calls.borrowed import Borrowed
from switchboard.core.calls.call import Call, Outcome, TextBlock
from switchboard.core.catalog.offers import Kind, Offer
from switchboard.core.catalog.tools import ArgumentsCheck, ToolSpec
from switchboard.core.channels.channel import Channel
from switchboard.core.faults import Fault
from switchboard.core.identity_cache import IdentityCache
from switchboard.core.loop.tasks import TaskSet
from switchboard.core.ports import Directory, Next
from switchboard.core.sessions import Session
from switchboard.pipeline.schemas import check_for
from switchboard.providers.find.answers import nothing_found, right_way, schemas, signatures
from switchboard.providers.find.arguments import (
    WantedCall,
    fitted,
    in_text,
    object_of,
    read_calls,
    read_find,
    too_deep,
)
from switchboard.providers.find.catalogue import (
    Catalogue,
    KnownTool,
    known_at,
    unknown_tool,
)
from switchboard.providers.find.ranking import Ranking
from switchboard.providers.find.several import run_all
from switchboard.providers.find.specs import CALL, FIND, PROVIDER, READ
from switchboard.providers.find.unheard import Unheard
from switchboard.results.borrowing import (
    Lent,
    Resolved,
    check_together,
    declares,
    forbidden,
    lent_to,
    may_refer,
    resolve,
)
from switchboard.results.store import ResultStore
from switchboard.search.finder import Finder

# What is told of a value that was taken from a result: its words are not repeated.
_MASK = "the value"
# Each is as large as all tools together.
_MOST_CATALOGUES = 4
_SUGGESTED = 3
# Checks that are kept; a catalogue that changes has other definitions.
_MOST_CHECKS = 1_024


class FindProvider:
    """Knows every tool through the directory, and runs none itself."""

    key = PROVIDER

    def __init__(
        self,
        specs: Sequence[ToolSpec],
        *,
        directory: Callable[[], Directory],
        road: Callable[[], Next],
        ranking: Ranking,
        unheard: Unheard,
        # Where arguments may stand for kept results.
        results: ResultStore | None = None,
    ) -> None:
        self._specs = tuple(specs)
        self._ranking = ranking
        self._unheard = unheard
        self._directory = directory
        self._road = road
        self._results = results
        self._catalogues: IdentityCache[Catalogue] = IdentityCache(_MOST_CATALOGUES)
        self._finders: IdentityCache[asyncio.Task[Finder]] = IdentityCache(_MOST_CATALOGUES)
        self._tasks = TaskSet()
        self._checks: dict[ToolSpec, ArgumentsCheck] = {}

    def specs(self) -> Sequence[ToolSpec]:
        return self._specs

    async def offers(
        self, kind: Kind, session: Session, channel: Channel | None, wanted: str = ""
    ) -> tuple[Offer, ...]:
        del kind, session, channel, wanted
        return ()

    async def narrow(self, call: Call) -> Call:
        self._ranking.refresh()
        if call.tool.name == FIND:
            return call
        wanted = read_calls(call.arguments)
        if isinstance(wanted, list):
            # Each of them is narrowed on its own road. What they cost is one request's.
            if may_refer(bytes(call.arguments)):
                check_together(self._lent_to_each(wanted, call.session))
            return replace(call, is_bundle=True)
        known = await self._told(wanted.tool, call) or await self._named(wanted.tool, call)
        args, borrowed = await self._arguments(known, wanted, call)
        return replace(
            call,
            tool=known.via or known.spec,
            arguments=_for_suite(known, args) if known.via is not None else args,
            writing_face=CALL if call.tool.name == READ else "",
            borrowed=borrowed,
        )

    async def _told(self, address: str, call: Call) -> KnownTool | None:
        """The tool of exactly this address. Nobody but its own server is asked."""
        server = address.partition(".")[0]
        offers = await self._directory().offers("subtools", call.session, call.channel, server)
        return known_at(address, offers)

    async def _named(self, name: str, call: Call) -> KnownTool:
        # By its name also one that is listed to nobody, because its server has changed it.
        spec = await self._directory().tool(name, call.session, call.channel)
        if spec is not None:
            return KnownTool(address=name, server="", spec=spec)
        catalogue = await self._catalogue(call.session, call.channel)
        known = await asyncio.to_thread(catalogue.named, name)
        if known is not None:
            return known
        # Nobody knows what a server has that could not be asked.
        fault = self._unheard.fault(call.session, name.partition(".")[0])
        if fault is not None:
            raise fault
        likely = [near] if (near := await asyncio.to_thread(catalogue.near, name)) else []
        if not likely:
            findings = (await self._finder(catalogue)).find(name, most=_SUGGESTED)
            likely = [catalogue.tools[each.place].address for each in findings.found]
        raise unknown_tool(name, likely)

    async def _arguments(
        self, known: KnownTool, wanted: WantedCall, call: Call
    ) -> tuple[Raw, tuple[Borrowed, ...]]:
        """The arguments as the tool takes them, and what of them is from earlier results.

        Raises a fault that says how it is called.
        """
        try:
            # The words of a tool that nobody is told of are not told by its faults either.
            declared = b"{}" if known.is_withheld else known.spec.input_schema
            schema: object = msgspec.json.decode(declared)
            written = object_of(wanted.args)
            lent = self._lent(known, written, schema, call)
            if lent.is_much and self._results is not None:
                work = partial(self._filled, known, written, schema, lent)
                resolved, args = await self._results.room.read(call.session.holder, work)
            else:
                resolved, args = self._filled(known, written, schema, lent)
        except RecursionError:
            raise too_deep() from None
        except Fault as fault:
            if not known.is_withheld:
                fault.details = {**fault.details, "call it as": right_way(known)}
            raise
        return args, resolved.borrowed

    def _lent(self, known: KnownTool, args: dict[str, Any], schema: object, call: Call) -> Lent:
        """What is kept of what the arguments refer to."""
        results = self._results
        if results is None or not may_refer(bytes(call.arguments)):
            return Lent({}, 0, has_patch=False)
        find = partial(results.find, call.session)
        lent = lent_to(args, find)
        if lent.references and declares(schema):
            raise forbidden(known.address)
        # A text that the tool takes as an object is opened, and would bring one in unseen.
        if lent_to(fitted(args, schema), find).references > lent.references:
            raise in_text()
        return lent

    def _lent_to_each(self, wanted: Sequence[WantedCall], session: Session) -> Iterator[Lent]:
        results = self._results
        if results is None:
            return
        for each in wanted:
            try:
                yield lent_to(object_of(each.args), lambda handle: results.find(session, handle))
            except Fault:
                # It will be told so on its own road, and takes nothing.
                continue

    def _filled(
        self, known: KnownTool, written: dict[str, Any], schema: object, lent: Lent
    ) -> tuple[Resolved, Raw]:
        """The arguments with what is kept in place of what stands for it, and as they are sent."""
        resolved = resolve(written, lent)
        args = Raw(encode(fitted(object_of(resolved.args), schema)))
        if not known.is_withheld:
            self._check(known.spec, resolved)(args)
        return resolved, args

    def _check(self, spec: ToolSpec, resolved: Resolved) -> ArgumentsCheck:
        if resolved.borrowed:
            return check_for(spec, mask=_MASK)
        check = spec.check or self._checks.get(spec)
        if check is None:
            if len(self._checks) >= _MOST_CHECKS:
                self._checks.clear()
            check = self._checks[spec] = check_for(spec)
        return check

    def launch(self, call: Call) -> None:
        """Nothing of its own: what it finds is launched by whoever has it."""
        del call

    async def invoke(self, call: Call) -> Outcome:
        if call.tool.name != FIND:
            wanted = read_calls(call.arguments)
            assert isinstance(wanted, list), "a single call is narrowed to its tool"
            return await run_all(call, wanted, self._road())
        asked = read_find(call.arguments)
        server = asked.server or ""
        catalogue = await self._catalogue(call.session, call.channel)
        finder = await self._finder(catalogue)
        findings = finder.find(asked.query, server, asked.limit or 0)
        found = [catalogue.tools[each.place] for each in findings.found]
        unheard = self._unheard.told(call.session, server, catalogue.changed)
        if not found:
            is_known = not server or finder.knows(server) or self._unheard.knows(server)
            return _said(nothing_found(catalogue.servers, "" if is_known else server), unheard)
        is_whole = asked.detail == "schema"
        told = schemas(found) if is_whole else signatures(found, is_sure=findings.is_sure)
        return _said(told, unheard)

    async def _catalogue(self, session: Session, channel: Channel | None) -> Catalogue:
        directory = self._directory()
        tools = await directory.offers("tools", session, channel)
        subtools = await directory.offers("subtools", session, channel)
        # Who shows tools through others has nothing of its own to call.
        suites = {each.via.provider for each in subtools if each.via is not None}
        own = [each for each in tools if each.provider not in {*suites, PROVIDER}]
        greetings = self._unheard.greetings(session)
        return self._catalogues.get(
            (*own, *subtools, *greetings.values()),
            lambda: Catalogue(
                (*own, *subtools), {name: each.instructions for name, each in greetings.items()}
            ),
        )

    async def _finder(self, catalogue: Catalogue) -> Finder:
        """The search over a catalogue, made once, and while everybody else goes on."""
        making = self._finders.get(
            (catalogue,), lambda: self._tasks.start(asyncio.to_thread(catalogue.finder))
        )
        return await asyncio.shield(making)

    async def aclose(self) -> None:
        await self._tasks.aclose()
        await self._ranking.aclose()


def _for_suite(known: KnownTool, args: Raw) -> Raw:
    return Raw(encode({"action": "call", "subtool": known.spec.name, "args": args}))


def _said(*texts: str) -> Outcome:
    """The texts apart: the first of them may be JSON."""
    return Outcome(blocks=tuple(TextBlock(text) for text in texts if text))
