"""Children as suites: `introspect` tells what a child can do, `call` does it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from fnmatch import fnmatchcase
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

from msgspec import Raw
from msgspec.json import encode
from msgspec.structs import replace

from switchboard.children.child import Child
from switchboard.children.inbound.sizes import definition_too_large
from switchboard.children.listings.collector import ListingCollector
from switchboard.children.listings.held_tools import Held, held_tools
from switchboard.children.listings.listing import ToolListing
from switchboard.children.results import passed_through, with_root
from switchboard.children.server_launches import ServerLaunches
from switchboard.children.trees.tree_choice import placed, settled
from switchboard.core.calls.call import Call, Outcome, TextBlock
from switchboard.core.calls.launches import Launch, nothing_agreed
from switchboard.core.catalog.addresses import server_of
from switchboard.core.catalog.offers import Kind, Offer
from switchboard.core.catalog.tools import ToolSpec
from switchboard.core.channels.channel import Channel
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.identity_cache import IdentityCache
from switchboard.core.sessions import Session
from switchboard.providers.suites.arguments import (
    SuiteArguments,
    is_pattern,
    read_arguments,
    wanted_names,
    wants_schemas,
)
from switchboard.providers.suites.choosing import chosen, chosen_launches
from switchboard.providers.suites.faces import reading_name
from switchboard.providers.suites.natural.query import NAME, read_query
from switchboard.providers.suites.offered import own_offers, subtool_offers
from switchboard.providers.suites.results import outcome_from_result, with_choice
from switchboard.providers.suites.specs import PROVIDER
from switchboard.providers.suites.suite import Suite
from switchboard.providers.suites.words.learner import Learn, Learner
from switchboard.results.inlining import keeps_results, room_beside
from switchboard.results.room import room_of
from switchkit.suggest import did_you_mean

if TYPE_CHECKING:
    from switchboard.models.model import LanguageModel

_WITHHELD = (
    "(Switchboard does not show what this server says of itself: it gives a model orders that its "
    "user may not be meant to see.)"
)


class SuitesProvider:
    """Every configured child as one tool."""

    key = PROVIDER

    def __init__(
        self,
        suites: Iterable[Suite],
        *,
        model: LanguageModel | None = None,
        # Whether clients may see a suite: nobody asks the server of another what it has.
        shows: Callable[[str], bool] = lambda _: True,
        is_guarded: bool = False,
        # Which tools nobody is told of, because their server has changed them.
        held: Held | None = None,
        announce: Callable[[str, str], None] = lambda _kind, _session: None,
        # Keeps what servers say of themselves, on a thread of its own.
        learn: Learn | None = None,
    ) -> None:
        """Where somebody judges what calls do, each is narrowed to the tool as it is listed."""
        self._suites = {suite.spec.name: suite for suite in suites}
        # By the names of both its faces; the second only reads.
        self._readers = {reading_name(name): suite for name, suite in self._suites.items()}
        self._shown = tuple(each for name, each in self._suites.items() if shows(name))
        self._following = tuple(each for each in self._shown if each.children.trees is not None)
        self._is_guarded = is_guarded
        self._held = held
        self._learner = Learner(learn)
        # Closed with the provider.
        self._model = model
        self._collector = ListingCollector(announce)
        self._offered: IdentityCache[tuple[Offer, ...]] = IdentityCache()
        self._reduced: IdentityCache[ToolListing] = IdentityCache()

    def specs(self) -> Sequence[ToolSpec]:
        return tuple(suite.spec for suite in self._suites.values())

    async def offers(
        self, kind: Kind, session: Session, channel: Channel | None, wanted: str = ""
    ) -> tuple[Offer, ...]:
        """Every subtool that may be called, each with its suite; of one server, if it is named."""
        if kind != "subtools":
            return ()
        if self._following:
            session = await settled(self._following, session, channel)
        shown = [each for each in self._shown if not wanted or server_of(each.spec.name) == wanted]
        asked = [suite for suite in shown if not suite.asks_nobody]
        collected = await self._collector.collect("tools", asked, session, channel)
        found = [(suite, cast("ToolListing", listing)) for suite, listing in collected]
        held = [await self._held_names(suite, session, listing) for suite, listing in found]
        for (suite, listing), names in zip(found, held, strict=True):
            child = suite.children.shown_to(session)
            # One that does not run was learned from when it did.
            if child is not None and child.is_running and suite.children.trees is None:
                about = child.connection.greeting
                known = self._without(listing, names)
                self._learner.learn(suite.spec.name, about, known)
        return self._offered.get(
            chain.from_iterable(found),
            lambda: (*own_offers(shown), *subtool_offers(found, held)),
            kind=encode([wanted, held]).decode(),
        )

    async def narrow(self, call: Call) -> Call:
        suite, call = self._suite_of(call)
        if suite.takes_query:
            call = await chosen(suite, call)
            return await self._interpreted(suite, call, call.arguments)
        arguments = read_arguments(call.arguments)
        if suite.chooses or arguments.worktree or call.session.worktree:
            call = await chosen(suite, call, arguments)
        if suite.interpreter is not None and suite.is_natural(arguments.subtool):
            narrowed = await self._natural(suite, call, arguments)
            if narrowed is not None:
                return narrowed
        if arguments.action == "introspect":
            for name in wanted_names(arguments.subtool):
                if not is_pattern(name):
                    self._check_shown(suite, name)
            return replace(call, tool=suite.introspection, via=suite.spec)
        if not arguments.subtool:
            raise Fault(
                FaultCode.INVALID_ARGUMENT,
                "subtool-missing",
                f"`{suite.spec.name}` needs a `subtool` to call",
                hint='send {"action": "introspect"} to see them',
            )
        self._check_shown(suite, arguments.subtool)
        # Where something is denied, only names that the child lists are known not to mean it; and
        # only the child knows which of them read.
        if self._is_guarded or not suite.subtools.is_open or call.writing_face:
            tool = await self._listed(suite, arguments.subtool, call)
        else:
            # What it says of itself, where that is known: whether it only reads.
            told = suite.children.of(call.session).listings.known_tools
            tool = suite.listed(arguments.subtool, told) if told is not None else None
            tool = tool or suite.subtool(arguments.subtool)
        return replace(call, tool=tool, arguments=arguments.args, via=suite.spec)

    def _suite_of(self, call: Call) -> tuple[Suite, Call]:
        """The suite that is called, by whichever of its faces."""
        suite = self._suites.get(call.tool.name)
        if suite is None:
            suite = self._readers[call.tool.name]
            call = replace(call, writing_face=suite.spec.name)
        return suite, call

    async def _natural(self, suite: Suite, call: Call, arguments: SuiteArguments) -> Call | None:
        """The call behind a sentence, or nothing where the child has a tool of that name."""
        if arguments.subtool != NAME and not suite.asks_nobody:
            listing = await suite.children.of(call.session).tools(call.channel)
            if not suite.is_natural(arguments.subtool, listing):
                return None
        if arguments.action == "introspect":
            return replace(call, tool=suite.introspection, via=suite.spec)
        return await self._interpreted(suite, call, arguments.args)

    async def _interpreted(self, suite: Suite, call: Call, args: Raw) -> Call:
        """Have a model choose the subtool. From here on it is a call like any other."""
        assert suite.interpreter is not None, "asked only where there is one"
        query = read_query(args)
        listing = await suite.children.of(call.session).tools(call.channel)
        listing = await self._unheld(suite, call.session, listing)
        choice = await suite.interpreter.choose(query, suite.callable_tools(listing))
        if suite.children.trees is not None:
            # The model may have named a path that the sentence did not.
            call = await placed(call, suite.children.trees, choice.args)
        return replace(
            call,
            tool=choice.tool,
            arguments=choice.args,
            via=suite.interpreted,
            chosen_for=query,
        )

    async def _listed(self, suite: Suite, name: str, call: Call) -> ToolSpec:
        child = suite.children.of(call.session)
        listing = child.listings.known_tools if child.is_running else None
        if listing is None:
            listing = await child.tools_now(call.channel)
        tool = suite.listed(name, listing)
        if tool is None:
            raise _unknown_subtool(suite, name, listing)
        return tool

    async def _unheld(self, suite: Suite, session: Session, listing: ToolListing) -> ToolListing:
        """The listing without the tools that are held."""
        return self._without(listing, await self._held_names(suite, session, listing))

    async def _held_names(
        self, suite: Suite, session: Session, listing: ToolListing
    ) -> tuple[str, ...]:
        held = await held_tools(
            self._held,
            suite.launches,
            suite.children,
            session,
            names=listing.tools,
            tool=lambda name: (suite.known(name, listing), name),
        )
        return tuple(sorted(held))

    def _without(self, listing: ToolListing, names: tuple[str, ...]) -> ToolListing:
        """The same listing each time, for whoever makes something of it."""
        if not names:
            return listing
        return self._reduced.get(
            (listing,),
            lambda: ToolListing(
                entries={name: raw for name, raw in listing.entries.items() if name not in names},
                tools={name: tool for name, tool in listing.tools.items() if name not in names},
            ),
            kind=encode(names).decode(),
        )

    def launch(self, call: Call) -> Launch | Coroutine[Any, Any, Launch] | None:
        assert call.via is not None, "every suite call is narrowed first"
        suite = self._suites[call.via.name]
        launches = chosen_launches(suite, call.session)
        if call.tool is suite.introspection:
            return None
        if not self._is_guarded:
            return launches[call.tool]
        child = suite.children.of(call.session)
        listing = child.listings.known_tools
        if listing is None or child.connection.link is None:
            return self._launch_now(suite, launches, child, call)
        return _judged(suite, launches, child, call, listing)

    async def _launch_now(
        self, suite: Suite, launches: ServerLaunches, child: Child, call: Call
    ) -> Launch:
        """The launch, once the child has said what it has now."""
        return _judged(suite, launches, child, call, await child.tools_now(call.channel))

    async def invoke(self, call: Call) -> Outcome:
        assert call.via is not None, "every suite call is narrowed first"
        suite = self._suites[call.via.name]
        child = suite.children.of(call.session)
        if call.tool is suite.introspection:
            asked = read_arguments(call.arguments)
            told = await self._introspect(suite, child, asked, call)
            return told if call.session.tree is None else with_root(told, call.session.tree)
        is_cold = not child.is_running
        try:
            judged = call.launch.judged if call.launch is not None else None
            result = await child.call(call.tool.name, call.arguments, call.channel, judged)
        except Fault as fault:
            await self._explain(suite, child, call.tool.name, fault)
            raise
        except asyncio.CancelledError:
            if call.clock.has_rung:
                child.doubt(call.clock, call.tool.policy.timeout_s)
            raise
        finally:
            if is_cold:
                child.count_start(call.clock)
        if suite.result_mode == "passthrough":
            outcome = passed_through(result, is_modern=child.is_modern)
        else:
            outcome = outcome_from_result(result, compact=suite.result_mode == "compact")
        if call.via is suite.interpreted:
            outcome = with_choice(outcome, call.tool.name, call.arguments)
        return outcome if call.session.tree is None else with_root(outcome, call.session.tree)

    async def _introspect(
        self, suite: Suite, child: Child, asked: SuiteArguments, call: Call
    ) -> Outcome:
        subtool, with_schemas = asked.subtool, wants_schemas(asked)
        host = room_of(call.session, call.channel.meta if call.channel is not None else b"")
        if suite.inline_tokens and keeps_results(call.session):
            host = room_beside(host, suite.inline_tokens)
        if suite.asks_nobody or subtool == NAME:
            return _said(suite.introspect(None, host, with_schemas=with_schemas))
        listing = await self._unheld(suite, call.session, await child.tools(call.channel))
        if subtool and suite.is_natural(subtool, listing):
            return _said(suite.introspect(None, host, with_schemas=with_schemas))
        names = _found(suite, subtool, listing)
        if suite.children.trees is None:
            # What it is in one worktree says little of another.
            await self._learner.learned(suite.spec.name, child.connection.greeting, listing)
        greeting = child.connection.greeting
        said = greeting.instructions or (_WITHHELD if greeting.gives_orders else "")
        words = suite.news(call.session.holder, said)
        if not names:
            return _said(suite.introspect(listing, host, words, with_schemas=with_schemas))
        return _said(suite.introspect_some(names, listing, host, words, with_schemas=with_schemas))

    def _check_shown(self, suite: Suite, subtool: str) -> None:
        if not suite.shows(subtool):
            hint = "the suite's `expose` lists decide what is"
            if suite.asks_nobody:
                hint = f"it shows `{NAME}` alone"
            raise Fault(
                FaultCode.PERMISSION_DENIED,
                "subtool-not-allowed",
                f"subtool `{subtool}` is not allowed in `{suite.spec.name}`",
                hint=hint,
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
        await self._learner.aclose()
        if self._model is not None:
            await self._model.aclose()


def _said(text: str) -> Outcome:
    return Outcome(blocks=(TextBlock(text),))


def _found(suite: Suite, subtool: str, listing: ToolListing) -> list[str]:
    """The subtools that a client asks to see, each once. Raises a fault for what is none."""
    ours = [spec.name for spec in suite.own_tools]
    shown = [*ours, *(name for name in listing.tools if suite.shows(name) and name not in ours)]
    found: dict[str, None] = {}
    for name in [subtool] if subtool in shown else wanted_names(subtool):
        matched = [each for each in shown if each == name]
        if not matched and is_pattern(name):
            matched = [each for each in shown if fnmatchcase(each, name)]
        if not matched:
            raise _unknown_subtool(suite, name, listing)
        found |= dict.fromkeys(matched)
    return list(found)


def _judged(
    suite: Suite, launches: ServerLaunches, child: Child, call: Call, listing: ToolListing
) -> Launch:
    """The launch as the running child lists the tool, which may have changed it since."""
    now = suite.listed(call.tool.name, listing)
    link = child.connection.link
    if now is None or link is None:
        return nothing_agreed(call.tool)
    child.check_login(call.tool.name, call.arguments)
    launch = launches[now]
    judged = child.judged.get(launch)
    if judged is None or judged.judged is not link:
        judged = child.judged[launch] = replace(launch, judged=link)
    return judged


def _unknown_subtool(suite: Suite, subtool: str, listing: ToolListing) -> Fault:
    if subtool in listing.oversized:
        return definition_too_large(subtool)
    ours = [spec.name for spec in suite.own_tools]
    shown = [*ours, *(name for name in listing.tools if suite.shows(name) and name not in ours)]
    meant = did_you_mean(subtool, shown)
    hint = f"it has: {', '.join(shown)}" if shown else "it shows none"
    return Fault(
        FaultCode.NOT_FOUND,
        "unknown-subtool",
        f"`{suite.spec.name}` has no subtool `{subtool}`",
        hint=f"did you mean `{meant}`?" if meant else hint,
    )
