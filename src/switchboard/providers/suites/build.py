"""The suites of a configuration."""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from switchboard.children.child import Limits
from switchboard.children.pool import ChildPool
from switchboard.children.schema import ServerEntry
from switchboard.core.visibility import Visibility
from switchboard.providers.suites.schema import Introspection, SuiteSettings
from switchboard.providers.suites.specs import suite_spec
from switchboard.providers.suites.suite import Suite


def build_suites(
    servers: Iterable[ServerEntry],
    settings: Mapping[str, SuiteSettings],
    *,
    introspection: Introspection,
    limits: Limits,
    pool: ChildPool,
) -> list[Suite]:
    """One suite per server. Starts nothing."""
    return [
        _suite(entry, settings.get(entry.name, SuiteSettings()), introspection, limits, pool)
        for entry in servers
    ]


def _suite(
    entry: ServerEntry,
    own: SuiteSettings,
    introspection: Introspection,
    limits: Limits,
    pool: ChildPool,
) -> Suite:
    # What a suite changes of its server the settings have laid over the entry already: trust is
    # given to the whole.
    rpc_ms = entry.rpc_timeout_ms
    limits = replace(
        limits,
        rpc_s=rpc_ms / 1000 if rpc_ms else limits.rpc_s,
        idle_s=limits.idle_s if own.idle_ms is None else own.idle_ms / 1000,
    )
    return Suite(
        suite_spec(entry, own),
        pool.source(entry, limits),
        subtools=Visibility(own.allow, own.deny),
        mode=introspection.mode,
        summary_max_chars=own.summary_max_chars or introspection.summary_max_chars,
        result_mode=own.result_mode,
    )
