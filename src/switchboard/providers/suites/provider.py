"""Children as suites: `introspect` tells what a child can do, `call` does it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import cast

from msgspec.structs import replace

from switchboard.children.child import Child
from switchboard.children.listings.collector import ListingCollector
from switchboard.children.listings.listing import Listing, ToolListing
from switchboard.children.results import passed_through
from switchboard.core.calls import Call, Outcome, TextBlock
from switchboard.core.channel import Channel
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.identity_cache import IdentityCache
from switchboard.core.launches import Launch
from switchboard.core.offers import Kind, Offer
from switchboard.core.sessions import Session
from switchboard.core.tools import ToolSpec
from switchboard.providers.suites.arguments import read_arguments
from switchboard.providers.suites.results import outcome_from_result
from switchboard.providers.suites.specs import PROVIDER
from switchboard.providers.suites.suite import Suite
from switchkit.suggest import did_you_mean


class SuitesProvider:
    """Every configured child as one tool."""

    key = PROVIDER

    def __init__(
        self,
        suites: Iterable[Suite],
        *,
        # Whether clients may see a suite: nobody asks the server of another what it has.
        shows: Callable[[str], bool] = lambda _: True,
        is_guarded: bool = False,
        announce: Callable[[str, str], None] = lambda _kind, _session: None,
    ) -> None:
        """Where somebody judges what calls do, each is narrowed to the tool as it is listed."""
        self._suites = {suite.spec.name: suite for suite in suites}
        self._shown = tuple(each for name, each in self._suites.items() if shows(name))
        self._is_guarded = is_guarded
        self._collector = ListingCollector(announce)
        self._offered: IdentityCache[tuple[Offer, ...]] = IdentityCache()

    def specs(self) -> Sequence[ToolSpec]:
        return tuple(suite.spec for suite in self._suites.values())

    async def offers(
        self, kind: Kind, session: Session, channel: Channel | None, wanted: str = ""
    ) -> tuple[Offer, ...]:
        """Every subtool that may be called, each with its suite."""
        del wanted
        if kind != "subtools":
            return ()
        found = await self._collector.collect("tools", self._shown, session, channel)
        return self._offered.get(chain.from_iterable(found), lambda: tuple(_subtools(found)))

    async def narrow(self, call: Call) -> Call:
        suite = self._suites[call.tool.name]
        arguments = read_arguments(call.arguments)
        if arguments.subtool:
            self._check_shown(suite, arguments.subtool)
        if arguments.action == "introspect":
            return replace(call, tool=suite.introspection, via=suite.spec)
        if not arguments.subtool:
            raise Fault(
                FaultCode.INVALID_ARGUMENT,
                "subtool-missing",
                f"`{suite.spec.name}` needs a `subtool` to call",
                hint='send {"action": "introspect"} to see them',
            )
        if self._is_guarded:
            tool = await self._listed(suite, arguments.subtool, call)
        else:
            tool = suite.subtool(arguments.subtool)
        return replace(call, tool=tool, arguments=arguments.args, via=suite.spec)

    async def _listed(self, suite: Suite, name: str, call: Call) -> ToolSpec:
        listing = await suite.children.of(call.session).tools(call.channel)
        tool = suite.listed(name, listing)
        if tool is None:
            raise _unknown_subtool(suite, name, listing)
        return tool

    async def launch(self, call: Call) -> Launch | None:
        assert call.via is not None, "every suite call is narrowed first"
        suite = self._suites[call.via.name]
        if call.tool is suite.introspection:
            return None
        if not self._is_guarded:
            return suite.launches[call.tool]
        # The child may have changed the tool since the call was narrowed.
        listing = suite.children.of(call.session).listings.known_tools
        now = suite.listed(call.tool.name, listing) if listing is not None else None
        return suite.launches[now or call.tool]

    async def invoke(self, call: Call) -> Outcome:
        assert call.via is not None, "every suite call is narrowed first"
        suite = self._suites[call.via.name]
        child = suite.children.of(call.session)
        if call.tool is suite.introspection:
            subtool = read_arguments(call.arguments).subtool
            return await self._introspect(suite, child, subtool, call.channel)
        try:
            result = await child.call(call.tool.name, call.arguments, call.channel)
        except Fault as fault:
            await self._explain(suite, child, call.tool.name, fault)
            raise
        if suite.result_mode == "passthrough":
            return passed_through(result, is_modern=child.is_modern)
        return outcome_from_result(result)

    async def _introspect(
        self, suite: Suite, child: Child, subtool: str, channel: Channel | None
    ) -> Outcome:
        listing = await child.tools(channel)
        if not subtool:
            return Outcome(blocks=(TextBlock(suite.introspect(listing)),))
        tool = listing.tools.get(subtool)
        if tool is None:
            raise _unknown_subtool(suite, subtool, listing)
        return Outcome(blocks=(TextBlock(suite.introspect_one(tool)),))

    def _check_shown(self, suite: Suite, subtool: str) -> None:
        if not suite.subtools.shows(subtool):
            raise Fault(
                FaultCode.PERMISSION_DENIED,
                "subtool-not-allowed",
                f"subtool `{subtool}` is not allowed in `{suite.spec.name}`",
                hint="the suite's `expose` lists decide what is",
            )

    async def _explain(self, suite: Suite, child: Child, subtool: str, fault: Fault) -> None:
        """A child that refused a name it does not list is told of as an unknown subtool."""
        if fault.reason not in {"child-rejected", "child-error", "child-lacks-tools"}:
            return
        try:
            listing = await child.tools()
        except Fault:
            # What it said of the call is worth more than why it cannot list its tools.
            return
        if subtool not in listing.tools:
            raise _unknown_subtool(suite, subtool, listing) from fault

    async def aclose(self) -> None:
        """The pool owns the children, and may keep them for the next board."""
        await self._collector.aclose()


def _subtools(found: Iterable[tuple[Suite, Listing]]) -> Iterator[Offer]:
    for suite, listing in found:
        tools = cast("ToolListing", listing)
        for name in tools.tools:
            if suite.subtools.shows(name):
                yield Offer(
                    name=name,
                    provider=PROVIDER,
                    owner=suite.spec.name,
                    spec=suite.listed(name, tools),
                    via=suite.spec,
                )


def _unknown_subtool(suite: Suite, subtool: str, listing: ToolListing) -> Fault:
    shown = [name for name in listing.tools if suite.subtools.shows(name)]
    meant = did_you_mean(subtool, shown)
    hint = f"it has: {', '.join(shown)}" if shown else "it shows none"
    return Fault(
        FaultCode.NOT_FOUND,
        "unknown-subtool",
        f"`{suite.spec.name}` has no subtool `{subtool}`",
        hint=f"did you mean `{meant}`?" if meant else hint,
    )
