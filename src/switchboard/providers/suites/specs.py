"""Suite tools from the configuration."""

from collections.abc import Sequence

from switchboard.children.exposure import SuiteSettings
from switchboard.children.schema import ServerEntry
from switchboard.core.catalog.names import suite_name, tool_name
from switchboard.core.catalog.tools import Behind, Outline, ToolSpec, Wording
from switchboard.core.sessions import Session
from switchboard.providers.suites.arguments import (
    FOLLOWING_SCHEMA,
    SUITE_SCHEMA,
    checked_when_narrowed,
)
from switchboard.providers.suites.words.description import plain_description

PROVIDER = "suites"


def nothing_known(session: Session) -> Sequence[Outline]:
    """Of a suite whose tools are not to be told, or are told by another."""
    del session
    return ()


def suite_spec(
    entry: ServerEntry,
    settings: SuiteSettings,
    wording: Wording | None = None,
    behind: Behind = nothing_known,
) -> ToolSpec:
    """The one tool that stands for a child; `wording` describes it where nobody else does."""
    if entry.expose == "natural":
        return natural_spec(entry)
    name = tool_name(settings.suite_name) if settings.suite_name else suite_name(entry.name)
    return ToolSpec(
        name=name,
        provider=PROVIDER,
        description=_chosen(entry, settings) or plain_description(entry),
        wording=None if _chosen(entry, settings) else wording,
        input_schema=FOLLOWING_SCHEMA if entry.follow else SUITE_SCHEMA,
        origin=entry.origin,
        check=checked_when_narrowed,
        behind=behind,
    )


def takes_query(spec: ToolSpec) -> bool:
    """Whether the tool itself takes a sentence, as that of a wrapper does."""
    return spec.input_schema not in (SUITE_SCHEMA, FOLLOWING_SCHEMA)


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
        behind=nothing_known,
    )


def _chosen(entry: ServerEntry, settings: SuiteSettings) -> str:
    """The description that somebody wrote; nothing if nobody did."""
    own, chosen = entry.suite_description, settings.description
    return (chosen or own) if settings.override_description else (own or chosen)
