"""What the providers read of a configuration, and what runs it, without a board."""

from collections.abc import Mapping
from typing import cast

from switchboard.core.catalog.tools import ToolSpec
from switchboard.core.ports import Events
from switchboard.core.privacy.secrets import SecretBook
from switchboard.daemon.board.egress import Egress
from switchboard.daemon.board.guard import Guard
from switchboard.providers.agents.found_agents import FoundAgents
from switchboard.providers.commands.provider import CommandsProvider
from switchboard.providers.commands.schema import CommandTools
from switchboard.providers.context import Context, State
from switchboard.providers.source import ListingContext
from switchboard.providers.table import source_of
from switchboard.results.store import ResultStore
from switchboard.sandbox.sandbox import Sandbox
from switchboard.settings.sections import Settings
from switchkit.reaper_client import Reaper


def command_tools(settings: Settings) -> CommandTools:
    none = CommandTools(usable={}, untrusted={}, omitted=())
    return cast("CommandTools", settings.sources.get("commands", none))


def command_specs(settings: Settings, environ: Mapping[str, str]) -> dict[str, ToolSpec]:
    listed = source_of("commands").specs(ListingContext(settings, environ, ()))
    return {spec.name: spec for spec in listed.specs}


def _nobody_asks() -> Guard:
    raise AssertionError("no tool here asks about hosts")


def commands_provider(
    settings: Settings,
    environ: Mapping[str, str],
    reaper: Reaper,
    events: Events,
    sandbox: Sandbox | None = None,
    *,
    guard: Guard | None = None,
) -> CommandsProvider:
    source = source_of("commands")
    context = Context(
        settings=settings,
        listed={source.key: source.specs(ListingContext(settings, environ, ()))},
        environ=environ,
        reaper=reaper,
        events=events,
        state=State(),
        results=ResultStore(),
        book=SecretBook(),
        sandbox=sandbox,
        open_way_out=Egress(events, _nobody_asks if guard is None else lambda: guard),
    )
    return cast("CommandsProvider", source.build(context))


def agents(settings: Settings) -> FoundAgents:
    """The agents of these settings."""
    return cast("FoundAgents", settings.sources.get("agents", FoundAgents()))
