"""The plug of suites: each server as one tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from switchboard.children.exposure import SuiteSettings
from switchboard.providers.source import Finding, Listed, ListingContext, Source
from switchboard.providers.suites.specs import PROVIDER, suite_spec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from switchboard.core.ports import Provider
    from switchboard.core.tools import ToolSpec
    from switchboard.providers.context import Context
    from switchboard.settings.sections import Settings

_DEFAULT = SuiteSettings()
_SHOWN = 20


class SuiteSource(Source[Struct]):
    """Suites as the rest of the program sees them. Servers are configured for all who show them."""

    key = PROVIDER

    def specs(self, listing: ListingContext) -> Listed:
        suites = listing.settings.suites
        specs = tuple(
            suite_spec(entry, suites.get(entry.name, _DEFAULT))
            for entry in listing.servers
            if entry.expose == "suite"
        )
        return Listed(specs=specs, offers=frozenset({"subtools"}) if specs else frozenset())

    def build(self, context: Context) -> Provider:
        # It takes what talks to children, and a listing of suites does not.
        from switchboard.providers.suites.build import build_suites  # noqa: PLC0415
        from switchboard.providers.suites.provider import SuitesProvider  # noqa: PLC0415

        suites = build_suites(
            [entry for entry in context.servers if entry.expose == "suite"],
            context.settings.suites,
            introspection=context.settings.introspection,
            sources=context.children,
        )
        return SuitesProvider(
            suites,
            shows=context.visibility.shows,
            is_guarded=context.settings.is_guarded,
            announce=context.announce,
        )

    def findings(self, settings: Settings, environ: Mapping[str, str]) -> Iterator[Finding]:
        del environ
        for entry in settings.servers:
            suite = settings.suites.get(entry.name)
            if entry.suite_description and suite and suite.description:
                wins = "the suite's `description`"
                if not suite.override_description:
                    wins = "the child's `switchboardDescription`"
                yield Finding(
                    severity="warning",
                    subject=entry.name,
                    message=f"its suite is described twice; {wins} is shown",
                    hint=f"remove one of the two: switchboard config explain suites.{entry.name}",
                )

    def instructions(self, settings: Settings, tools: Mapping[str, ToolSpec]) -> str:
        """How to use suites, which there are, and how many servers wait for trust."""
        names = [name for name, tool in tools.items() if tool.provider == self.key]
        listed = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
        others = len(names) < len(tools)
        text = (
            f"Switchboard: {'a suite is a tool' if others else 'each tool is a suite'}"
            " that stands for one MCP server"
            f" ({listed or 'none is configured yet'})."
            ' Call a suite with {"action": "introspect"} to see its subtools and their schemas,'
            ' then with {"action": "call", "subtool": NAME, "args": {…}}.'
        )
        if others:
            text += " Every other tool takes its own arguments."
        waiting = len(settings.untrusted)
        if waiting:
            servers = (
                "1 server of this workspace waits"
                if waiting == 1
                else f"{waiting} servers of this workspace wait"
            )
            text += f" {servers} for trust: the user looks at them with `switchboard trust`."
        return text


SOURCE = SuiteSource()
