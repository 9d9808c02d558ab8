"""Finds tools, and turns calls by their address into calls of exactly these tools."""

from collections.abc import Callable, Sequence

import msgspec
from msgspec import Raw
from msgspec.json import encode
from msgspec.structs import replace

from switchboard.core.calls import Call, Outcome, TextBlock
from switchboard.core.channel import Channel
from switchboard.core.faults import Fault
from switchboard.core.identity_cache import IdentityCache
from switchboard.core.offers import Kind, Offer
from switchboard.core.ports import Directory, Next
from switchboard.core.sessions import Session
from switchboard.core.tools import ArgumentsCheck, ToolSpec
from switchboard.pipeline.schemas import check_for
from switchboard.providers.find.answers import nothing_found, right_way, schemas, signatures
from switchboard.providers.find.arguments import (
    WantedCall,
    fitted,
    object_of,
    read_calls,
    read_find,
)
from switchboard.providers.find.catalogue import Catalogue, KnownTool
from switchboard.providers.find.several import run_all
from switchboard.providers.find.specs import CALL, FIND, PROVIDER, READ

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
    ) -> None:
        self._specs = tuple(specs)
        self._directory = directory
        self._road = road
        self._catalogues: IdentityCache[Catalogue] = IdentityCache()
        self._checks: dict[ToolSpec, ArgumentsCheck] = {}

    def specs(self) -> Sequence[ToolSpec]:
        return self._specs

    async def offers(
        self, kind: Kind, session: Session, channel: Channel | None, wanted: str = ""
    ) -> tuple[Offer, ...]:
        del kind, session, channel, wanted
        return ()

    async def narrow(self, call: Call) -> Call:
        if call.tool.name == FIND:
            return call
        wanted = read_calls(call.arguments)
        if isinstance(wanted, list):
            # Each of them is narrowed on its own road.
            return call
        is_reading = call.tool.name == READ
        catalogue = await self._catalogue(call.session, call.channel)
        known = catalogue.named(wanted.tool, is_reading=is_reading)
        args = self._arguments(known, wanted)
        return replace(
            call,
            tool=known.via or known.spec,
            arguments=_for_suite(known, args) if known.via is not None else args,
            writing_face=CALL if is_reading else "",
        )

    def _arguments(self, known: KnownTool, wanted: WantedCall) -> Raw:
        """The arguments as the tool takes them. Raises a fault that says how it is called."""
        spec = known.spec
        try:
            schema: object = msgspec.json.decode(spec.input_schema)
            args = Raw(encode(fitted(object_of(wanted.args), schema)))
            check = spec.check or self._checks.get(spec)
            if check is None:
                if len(self._checks) >= _MOST_CHECKS:
                    self._checks.clear()
                check = self._checks[spec] = check_for(spec)
            check(args)
        except Fault as fault:
            fault.details = {**fault.details, "call it as": right_way(known)}
            raise
        return args

    def launch(self, call: Call) -> None:
        """Nothing of its own: what it finds is launched by whoever has it."""
        del call

    async def invoke(self, call: Call) -> Outcome:
        if call.tool.name != FIND:
            wanted = read_calls(call.arguments)
            assert isinstance(wanted, list), "a single call is narrowed to its tool"
            return await run_all(call, wanted, self._road())
        asked = read_find(call.arguments)
        catalogue = await self._catalogue(call.session, call.channel)
        findings, found = catalogue.find(asked.query, asked.server or "", asked.limit or 0)
        if not found:
            return _said(nothing_found(catalogue.servers))
        is_whole = asked.detail == "schema"
        return _said(schemas(found) if is_whole else signatures(found, is_sure=findings.is_sure))

    async def _catalogue(self, session: Session, channel: Channel | None) -> Catalogue:
        directory = self._directory()
        tools = await directory.offers("tools", session, channel)
        subtools = await directory.offers("subtools", session, channel)
        # Who shows tools through others has nothing of its own to call.
        suites = {each.via.provider for each in subtools if each.via is not None}
        own = [each for each in tools if each.provider not in {*suites, PROVIDER}]
        return self._catalogues.get((*own, *subtools), lambda: Catalogue((*own, *subtools)))

    async def aclose(self) -> None:
        """Nothing: it holds nothing but what it was handed."""


def _for_suite(known: KnownTool, args: Raw) -> Raw:
    return Raw(encode({"action": "call", "subtool": known.spec.name, "args": args}))


def _said(text: str) -> Outcome:
    return Outcome(blocks=(TextBlock(text),))
