"""What must hold between the sections of the configuration."""

from collections.abc import Mapping, Sequence

from switchboard.children.schema import ServerEntry
from switchboard.config.layers import Layer, Merged
from switchboard.config.problems import Problem, did_you_mean
from switchboard.core.names import is_reserved, suite_name, tool_name
from switchboard.providers.suites.schema import SuiteSettings


def validated_servers(
    servers: Sequence[ServerEntry],
    untrusted: Sequence[ServerEntry],
    suites: Mapping[str, SuiteSettings],
    merged: Merged,
    warnings: list[Problem],
) -> list[ServerEntry]:
    """The servers whose suites can be told apart. The rest is left out, each with a warning."""
    known = {entry.name for entry in (*servers, *untrusted)}
    for name in suites:
        if name not in known:
            meant = did_you_mean(name, known)
            _warn(
                merged,
                ("suites", name),
                f"no server is named `{name}`",
                f"did you mean `{meant}`?" if meant else "",
                warnings,
            )
    owners: dict[str, list[ServerEntry]] = {}
    for entry in servers:
        owners.setdefault(shown_name(entry, suites), []).append(entry)
    kept: list[ServerEntry] = []
    for shown, entries in owners.items():
        if is_reserved(shown):
            message = f"the suite of `{entries[0].name}` cannot be named `{shown}`: it is reserved"
            _warn(merged, _name_key(entries[0], suites), message, _RENAME, warnings)
        elif len(entries) > 1:
            message = (
                f"the suites of `{entries[0].name}` ({entries[0].origin}) and `{entries[1].name}` "
                f"({entries[1].origin}) would both be named `{shown}`; neither is shown"
            )
            _warn(merged, _name_key(entries[-1], suites), message, _RENAME, warnings)
        else:
            kept += entries
    return kept


_RENAME = "choose another `suiteName`"


def shown_name(entry: ServerEntry, suites: Mapping[str, SuiteSettings]) -> str:
    """The name of a server's suite tool."""
    suite = suites.get(entry.name)
    if suite is not None and suite.suite_name:
        return tool_name(suite.suite_name)
    return suite_name(entry.name)


def _name_key(entry: ServerEntry, suites: Mapping[str, SuiteSettings]) -> tuple[str, ...]:
    suite = suites.get(entry.name)
    if suite is not None and suite.suite_name:
        return ("suites", entry.name, "suiteName")
    return ("mcp_servers", entry.name)


def _warn(
    merged: Merged, at: tuple[str, ...], message: str, hint: str, warnings: list[Problem]
) -> None:
    layer = merged.layer_of(at) or _first_below(merged, at)
    if layer is not None:
        warnings.append(layer.problem(at, message, hint, "warning"))


def _first_below(merged: Merged, at: tuple[str, ...]) -> Layer | None:
    for path, layer in merged.layers.items():
        if path[: len(at)] == at:
            return layer
    return None
