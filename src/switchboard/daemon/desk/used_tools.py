"""Which tools are used, and which there are, as far as that is known without a server."""

from collections.abc import Mapping

from msgspec import Struct

from switchboard.children.listings.kept_words import kept_words
from switchboard.core.catalog.tools import Outline
from switchboard.core.text.tokens import estimated_tokens
from switchboard.daemon.board.assemble import assemble
from switchboard.settings.sections import Settings
from switchboard.settings.server_names import shown_name

_DAYS = 30
# More than any budget has room for.
_MOST = 500


def used_tools(home: str) -> list[str]:
    """Tools, those of suites as `suite/tool`, the most used first. Reads the log: for a thread."""
    # Few listings have a budget, and the log takes SQLite.
    from switchboard.audit.usage.count import UsageCount  # noqa: PLC0415

    found = UsageCount(home).last_days(_DAYS)
    # Of two that are used alike always the same comes first.
    ranked = sorted(found.items(), key=lambda each: (-each[1].calls, each[0].tool))
    return [f"{tool.suite}/{tool.tool}" if tool.suite else tool.tool for tool, _ in ranked][:_MOST]


class OutlinedServer(Struct, frozen=True):
    """What is known of one server since it last ran."""

    tools: tuple[Outline, ...]
    # What its suite costs a listing; estimated. Nothing if it is not listed as one.
    suite_tokens: int


def known_servers(settings: Settings, environ: Mapping[str, str]) -> dict[str, OutlinedServer]:
    """Every server that may be used, by its name. Starts nothing."""
    kept = kept_words(settings.home).known()
    catalog = assemble(settings, environ).catalog.tools
    found: dict[str, OutlinedServer] = {}
    for entry in settings.servers:
        words = kept.of(entry, environ)
        suite = catalog.get(shown_name(entry, settings.suites))
        cost = 0
        # With a budget a suite is listed to nobody, or for less than it costs by itself.
        if suite is not None and suite.is_listed and suite.shown_to is None:
            text = f"{suite.name} {suite.description}"
            cost = estimated_tokens(text) + estimated_tokens(bytes(suite.input_schema))
        found[entry.name] = OutlinedServer(words.outlines if words is not None else (), cost)
    return found
