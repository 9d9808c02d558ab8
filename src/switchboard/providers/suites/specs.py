"""Suite tools from the configuration."""

from switchboard.children.exposure import SuiteSettings
from switchboard.children.schema import ServerEntry
from switchboard.core.names import suite_name, tool_name
from switchboard.core.tools import ToolSpec
from switchboard.providers.suites.arguments import SUITE_SCHEMA, checked_when_narrowed

PROVIDER = "suites"


def suite_spec(entry: ServerEntry, settings: SuiteSettings) -> ToolSpec:
    """The one tool that stands for a child."""
    if entry.expose == "natural":
        return natural_spec(entry)
    name = tool_name(settings.suite_name) if settings.suite_name else suite_name(entry.name)
    return ToolSpec(
        name=name,
        provider=PROVIDER,
        description=_description(entry, settings),
        input_schema=SUITE_SCHEMA,
        origin=entry.origin,
        check=checked_when_narrowed,
    )


def natural_spec(entry: ServerEntry) -> ToolSpec:
    """The one tool of a wrapper that was started alone."""
    from switchboard.providers.suites.natural.query import (  # noqa: PLC0415 - few have one
        NAME,
        QUERY_SCHEMA,
        SUMMARY,
    )

    return ToolSpec(
        name=NAME,
        provider=PROVIDER,
        description=f"{entry.suite_description or entry.description or entry.name}: {SUMMARY}",
        input_schema=QUERY_SCHEMA,
        origin=entry.origin,
        check=checked_when_narrowed,
    )


def _description(entry: ServerEntry, settings: SuiteSettings) -> str:
    own, chosen = entry.suite_description, settings.description
    wanted = (chosen or own) if settings.override_description else (own or chosen)
    subject = entry.description or entry.name
    return wanted or f"Use this tool for {subject}. Actions: 'introspect' | 'call'"
