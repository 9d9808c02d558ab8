"""The plug of suites: each server as one tool."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from switchboard.children.exposure import SuiteSettings
from switchboard.children.listings.kept_words import kept_words
from switchboard.core.catalog.addresses import server_of
from switchboard.providers.source import Finding, Listed, ListingContext, Secrets, Source
from switchboard.providers.suites.faces import reading_face
from switchboard.providers.suites.specs import PROVIDER, suite_spec, takes_query
from switchboard.providers.suites.words.description import Description
from switchboard.providers.suites.words.told_sessions import ToldSessions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from switchboard.children.greeting import Greeting
    from switchboard.children.listings.listing import ToolListing
    from switchboard.children.schema import ServerEntry
    from switchboard.core.catalog.tools import ToolSpec
    from switchboard.core.ports import Provider
    from switchboard.providers.context import Context
    from switchboard.providers.suites.words.learner import Learn
    from switchboard.settings.sections import Settings

_DEFAULT = SuiteSettings()
_SHOWN_BY_SUITES = ("suite", "natural")
_SHOWN = 20


class SuiteSource(Source[Struct]):
    """Suites as the rest of the program sees them. Servers are configured for all who show them."""

    key = PROVIDER

    def specs(self, listing: ListingContext) -> Listed:
        suites = listing.settings.suites
        kept = kept_words(listing.settings.home)

        def spec(entry: ServerEntry) -> ToolSpec:
            own = suites.get(entry.name, _DEFAULT)
            if entry.accounts:
                # What one account is listed is not for another to see.
                return suite_spec(entry, own)
            said = Description(entry, own, listing.environ, kept)
            return suite_spec(entry, own, said, said.outlines)

        specs = tuple(spec(entry) for entry in listing.servers if entry.expose in _SHOWN_BY_SUITES)
        split = listing.settings.faces.split
        if split != "never":
            faces = (reading_face(each, split) for each in specs if not takes_query(each))
            specs = (*specs, *faces)
        return Listed(specs=specs, offers=frozenset({"subtools"}) if specs else frozenset())

    def build(self, context: Context) -> Provider:
        # It takes what talks to children, and a listing of suites does not.
        from switchboard.providers.suites.build import build_suites  # noqa: PLC0415
        from switchboard.providers.suites.provider import SuitesProvider  # noqa: PLC0415

        context.state.of(ToldSessions).words = kept_words(context.settings.home)
        entries = [entry for entry in context.servers if entry.expose in _SHOWN_BY_SUITES]
        model, interpreters = None, {}
        if any(entry.natural_language for entry in entries):
            from switchboard.providers.suites.natural.build import (  # noqa: PLC0415
                build_interpreters,
                build_model,
            )
            from switchboard.settings.trust import still_trusted  # noqa: PLC0415

            own = context.settings.interpreting
            model = build_model(
                context,
                engine=own.engine,
                model=own.model,
                timeout_s=own.timeout_ms / 1000,
                max_tokens=own.max_tokens,
            )
            interpreters = build_interpreters(
                entries,
                model,
                home=context.settings.home,
                is_trusted=partial(still_trusted, workspace=context.settings.workspace),
            )
        suites = build_suites(
            entries,
            context.settings.suites,
            introspection=context.settings.introspection,
            results=context.settings.results,
            sources=context.children,
            interpreters=interpreters,
        )
        return SuitesProvider(
            suites,
            model=model,
            shows=context.visibility.shows,
            is_guarded=context.settings.is_guarded,
            announce=context.announce,
            held=context.held,
            learn=_learning(entries, context),
        )

    def env_names(self, settings: Settings) -> Iterable[str]:
        if not _asks_model(settings):
            return ()
        from switchboard.models.variables import variable_names  # noqa: PLC0415 - few ask a model

        return variable_names(settings.interpreting.engine)

    def secrets(self, settings: Settings) -> Secrets:
        if not _asks_model(settings):
            return Secrets()
        from switchboard.models.variables import secret_names  # noqa: PLC0415 - few ask a model

        return Secrets(variables=secret_names(settings.interpreting.engine))

    def findings(self, settings: Settings, environ: Mapping[str, str]) -> Iterator[Finding]:
        for entry in settings.servers:
            yield from _natural_findings(entry, settings, environ)
            suite = settings.suites.get(entry.name)
            if entry.suite_description and suite and suite.description:
                wins = "the suite's `description`"
                if not suite.override_description:
                    wins = "the child's `switchboardDescription`"
                import shlex  # noqa: PLC0415 - everybody waits for the first listing

                yield Finding(
                    severity="warning",
                    subject=entry.name,
                    message=f"its suite is described twice; {wins} is shown",
                    hint="remove one of the two: switchboard config explain"
                    f" {shlex.quote(f'suites.{entry.name}')}",
                )

    def instructions(self, settings: Settings, tools: Mapping[str, ToolSpec]) -> str:
        """How to use suites, which there are, and how many servers wait for trust."""
        # A second face is named by its suite.
        suites = [
            tool
            for tool in tools.values()
            if tool.provider == self.key and tool.effects.read_only is not True
        ]
        names = [tool.name for tool in suites if tool.is_listed and tool.shown_to is None]
        if any(entry.expose == "natural" for entry in settings.servers):
            return 'Switchboard: call `natural_language` with {"query": …}, one thing at a time.'
        if len(names) < len(suites):
            # Not all of them are listed: whoever lists the others says how they are called.
            servers = [server_of(tool.name) for tool in suites]
            more = ", …" if len(servers) > _SHOWN else ""
            text = f"Switchboard: MCP servers ({', '.join(servers[:_SHOWN])}{more})."
            return text + _waiting(settings)
        shows_tools = any(entry.expose == "tools" for entry in settings.servers)
        if shows_tools and not names:
            text = "Switchboard: tools of MCP servers, under their own names."
        else:
            text = _about_suites(names, has_others=shows_tools or len(names) < len(tools))
        return text + _waiting(settings)


def _waiting(settings: Settings) -> str:
    """How many servers nobody has trusted yet, and what to type."""
    waiting = len(settings.untrusted)
    if not waiting:
        return ""
    servers = (
        "1 server of this workspace waits"
        if waiting == 1
        else f"{waiting} servers of this workspace wait"
    )
    return f" {servers} for trust: the user looks at them with `switchboard trust`."


def _about_suites(names: Sequence[str], *, has_others: bool) -> str:
    listed = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
    text = (
        f"Switchboard: {'a suite is a tool' if has_others else 'each tool is a suite'}"
        " that stands for one MCP server"
        f" ({listed or 'none is configured yet'})."
        ' Call a suite with {"action": "introspect"} to see its subtools and their schemas,'
        ' then with {"action": "call", "subtool": NAME, "args": {…}}.'
    )
    return text + " Every other tool takes its own arguments." if has_others else text


def _learning(entries: Iterable[ServerEntry], context: Context) -> Learn:
    """Has what servers say of themselves kept, for the listings of later sessions."""
    from switchboard.providers.suites.words.telling import words_of  # noqa: PLC0415 - see `build`

    named = {
        suite_spec(entry, context.settings.suites.get(entry.name, _DEFAULT)).name: entry
        for entry in entries
        if not entry.accounts
    }
    kept = kept_words(context.settings.home)

    def learn(suite: str, greeting: Greeting, listing: ToolListing) -> None:
        if (entry := named.get(suite)) is not None:
            words = words_of(greeting, listing, trusts_annotations=entry.trust_annotations)
            kept.keep(entry, context.environ, words)

    return learn


def _asks_model(settings: Settings) -> bool:
    return any(entry.natural_language for entry in settings.servers)


def _natural_findings(
    entry: ServerEntry, settings: Settings, environ: Mapping[str, str]
) -> Iterator[Finding]:
    if not entry.natural_language:
        return
    from switchboard.models.variables import KEY_NAME  # noqa: PLC0415 - few ask a model

    if entry.expose == "tools":
        yield Finding(
            severity="warning",
            subject=entry.name,
            message="`natural_language` is not shown: its tools are shown one by one",
            hint="show it as a suite: remove `expose`",
        )
    elif settings.interpreting.engine == "anthropic" and not environ.get(KEY_NAME):
        yield Finding(
            severity="warning",
            subject=entry.name,
            message=f"`natural_language` has no model to ask: `{KEY_NAME}` is not set",
            hint=f"set `{KEY_NAME}`, or choose an `engine` in `[natural_language]`",
        )


SOURCE = SuiteSource()
