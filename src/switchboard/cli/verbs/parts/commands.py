"""Command tools as people read them."""

from collections.abc import Mapping

from msgspec import Struct

from switchboard.cli.render import shown_origin
from switchboard.providers.source import Trust
from switchboard.providers.table import configured
from switchboard.settings.sections import Settings
from switchkit.cli.columns import visible


class ListedCommand(Struct, frozen=True, kw_only=True):
    """One configured command tool."""

    name: str
    trust: Trust
    origin: str
    runs: str = ""
    description: str = ""
    sandbox: str = ""
    # Why it cannot be used although it is configured, and what to do about it.
    left_out: str = ""
    hint: str = ""


def listed_commands(settings: Settings, environ: Mapping[str, str]) -> tuple[ListedCommand, ...]:
    """Every tool that is configured one by one, with those that wait for trust or are left out."""
    items = (item for source in configured(settings) for item in source.rows(settings, environ))
    return tuple(
        ListedCommand(
            name=item.name,
            trust=item.trust,
            origin=shown_origin(
                item.origin.scope, item.origin.path, item.origin.line, settings.workspace
            ),
            runs=item.runs,
            description=item.description,
            sandbox=visible(item.sandbox),
            left_out=item.left_out,
            hint=item.hint,
        )
        for item in sorted(items, key=lambda item: item.name)
    )
