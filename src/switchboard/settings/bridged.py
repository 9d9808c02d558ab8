"""The settings of a bridge: one server alone, whose tools have the names that it gives them."""

from msgspec.structs import replace

from switchboard.children.secrets.texts import references_of
from switchboard.config.problems import ConfigInvalid
from switchboard.core.catalog.visibility import Visibility
from switchboard.core.faults import Fault, FaultCode
from switchboard.providers.table import configured
from switchboard.settings.placing.placement import with_places
from switchboard.settings.scopes.session_servers import servers_in_scope
from switchboard.settings.sections import Settings, ToolFilters
from switchboard.settings.server_names import suite_for
from switchboard.settings.validate import shown_name
from switchkit.platform.paths import true_path

_NO_FILTERS = ToolFilters()


def bridged(settings: Settings, wanted: str, *, agent: str = "") -> Settings:
    """What a bridge to this server shows. Raises a fault when there is none that can be used.

    `agent` is the file or the directory of an agent whose own servers count too.
    """
    if agent:
        settings = _with_servers_of(settings, agent)
    suite = suite_for(settings, wanted)
    entry = next(each for each in settings.servers if shown_name(each, settings.suites) == suite)
    filters = settings.tools
    # What hides the tool that stands for a server hides the server. Where its tools are shown one
    # by one, what is said of them is said of their names with the prefix.
    is_filtered = entry.expose == "tools" and (filters.allow is not None or bool(filters.deny))
    if entry.expose == "suite" and not Visibility(filters.allow, filters.deny).shows(suite):
        raise Fault(
            FaultCode.PERMISSION_DENIED,
            "server-hidden",
            f"the server `{entry.name}` is not shown to clients",
            hint="switchboard config explain tools.deny",
        )
    prefix = entry.tool_prefix if is_filtered else ""
    return replace(
        settings,
        servers=(replace(entry, expose="tools", tool_prefix=prefix, relay=True),),
        untrusted=(),
        omitted=(),
        sources={},
        tools=replace(_NO_FILTERS, roots=filters.roots) if not is_filtered else filters,
    )


def _with_servers_of(settings: Settings, agent: str) -> Settings:
    try:
        scoped = servers_in_scope(settings, agent=agent)
    except ConfigInvalid as invalid:
        raise Fault(
            FaultCode.FAILED_PRECONDITION,
            "servers-invalid",
            f"the servers of the agent cannot be used: {invalid.problems[0].message}",
            hint="switchboard agents check",
        ) from None
    trusted = {
        true_path(file)
        for source in configured(settings)
        for file in source.trusted_files(settings)
    }
    own = [each for each in scoped.untrusted if true_path(each.origin.path) in trusted]
    # Who trusts a file trusts what is written in it, with the secrets that it names there.
    given = [replace(each, grants=references_of(each)) for each in own]
    return with_places(
        replace(
            settings,
            servers=(*scoped.servers, *given),
            untrusted=tuple(each for each in scoped.untrusted if each not in own),
        )
    )
