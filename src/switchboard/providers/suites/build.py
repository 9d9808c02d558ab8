"""The suites of a configuration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from switchboard.children.exposure import Introspection, Results, SuiteSettings
from switchboard.children.schema import ServerEntry
from switchboard.children.server_launches import ServerLaunches
from switchboard.children.sharing.sources import ChildSource
from switchboard.core.catalog.visibility import Visibility
from switchboard.providers.suites.specs import suite_spec
from switchboard.providers.suites.suite import Suite

if TYPE_CHECKING:
    from switchboard.providers.suites.natural.interpreter import Interpreter


def build_suites(
    servers: Iterable[ServerEntry],
    settings: Mapping[str, SuiteSettings],
    *,
    introspection: Introspection,
    results: Results,
    sources: Mapping[str, ChildSource],
    interpreters: Mapping[str, Interpreter] = {},
) -> list[Suite]:
    """One suite per server. Starts nothing."""
    return [
        _suite(
            entry,
            settings.get(entry.name, SuiteSettings()),
            sources[entry.name],
            introspection=introspection,
            results=results,
            interpreter=interpreters.get(entry.name),
        )
        for entry in servers
    ]


def _suite(
    entry: ServerEntry,
    own: SuiteSettings,
    source: ChildSource,
    *,
    introspection: Introspection,
    results: Results,
    interpreter: Interpreter | None,
) -> Suite:
    return Suite(
        suite_spec(entry, own),
        source,
        subtools=Visibility(own.allow, own.deny),
        introspection=replace(
            introspection,
            summary_max_chars=own.summary_max_chars or introspection.summary_max_chars,
        ),
        result_mode=own.result_mode or results.mode,
        inline_tokens=results.inlined(own) if results.handles == "auto" else 0,
        launches=ServerLaunches(entry, source.cwd),
        interpreter=interpreter,
        is_natural_only=entry.natural_only,
    )
