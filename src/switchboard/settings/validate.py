"""What must hold between the sections of the configuration."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from switchboard.children.exposure import SuiteSettings
from switchboard.children.schema import ServerEntry
from switchboard.config.layers import MergedLayers
from switchboard.config.problems import Problem
from switchboard.core.catalog.addresses import address_of, server_of
from switchboard.core.catalog.names import fold, suite_name, tool_name
from switchboard.providers.table import is_reserved
from switchboard.settings.sections import Omission
from switchboard.settings.server_rules import RENAME_IT
from switchkit.suggest import did_you_mean


def omissions(
    servers: Sequence[ServerEntry],
    untrusted: Sequence[ServerEntry],
    suites: Mapping[str, SuiteSettings],
    merged: MergedLayers,
    warnings: list[Problem],
    *,
    known: Collection[str],
) -> list[Omission]:
    """The servers whose suites cannot be told apart, each with a warning.

    `known` are the names of all servers, also of those that are not judged here.
    """
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
    # As in the catalog: names that differ only in case count as one. So do `x` and `x_suite`, whose
    # tools would both be called `x.tool`.
    owners: dict[str, list[ServerEntry]] = {}
    for entry in (*servers, *untrusted):
        owners.setdefault(fold(server_of(shown_name(entry, suites))), []).append(entry)
    found: list[Omission] = []
    for entries in owners.values():
        usable = [entry for entry in entries if any(entry is each for each in servers)]
        for entry in entries:
            # One that waits under the name of another is to take its place, not to stand beside.
            others = [other for other in entries if other.name != entry.name]
            rivals = [each for each in usable if each is entry or each.name != entry.name]
            shown = shown_name(entry, suites)
            if is_reserved(fold(shown)):
                reason = f"its suite cannot be named `{shown}`: that name is reserved"
            # A stranger's server must not take away the one that its user has.
            elif others and rivals != [entry]:
                reason = _clash(shown, others, suites)
            else:
                continue
            waits = not any(entry is each for each in usable)
            found.append(Omission(entry=entry, reason=reason, waits=waits))
            message = f"the server `{entry.name}` is left out: {reason}"
            _warn(merged, _name_key(entry, suites), message, RENAME, warnings)
    left_out = {id(omission.entry) for omission in found}
    for entry, twin in _look_alikes(servers, untrusted):
        if id(entry) not in left_out:
            reason = f"its name looks like `{twin.name}` ({twin.origin})"
            waits = not any(entry is each for each in servers)
            found.append(Omission(entry=entry, reason=reason, hint=RENAME_IT, waits=waits))
            message = f"the server `{entry.name}` is left out: {reason}"
            _warn(merged, ("mcp_servers", entry.name), message, RENAME_IT, warnings)
    return found


def _clash(shown: str, others: Sequence[ServerEntry], suites: Mapping[str, SuiteSettings]) -> str:
    named = " and ".join(f"`{other.name}` ({other.origin})" for other in others)
    if all(fold(shown_name(other, suites)) == fold(shown) for other in others):
        return f"its suite would be named `{shown}`, as is that of {named}"
    return f"its tools would be called `{address_of(shown, 'tool')}`, as those of {named}"


def name_marks(name: str) -> frozenset[str]:
    """What no two servers may have in common, each by its name alone; else both are left out."""
    return frozenset((f"tools {fold(server_of(suite_name(name)))}", f"looks {_skeleton(name)}"))


def _look_alikes(
    servers: Sequence[ServerEntry], untrusted: Sequence[ServerEntry]
) -> Iterator[tuple[ServerEntry, ServerEntry]]:
    """Each server that the eye takes for another: for one in use, or one with a plainer name."""
    seen: dict[str, ServerEntry] = {}
    for some in (servers, untrusted):
        for entry in sorted(some, key=lambda each: not each.name.isascii()):
            twin = seen.setdefault(_skeleton(entry.name), entry)
            # Names that differ only in case are judged by the names of their suites.
            if fold(twin.name) != fold(entry.name):
                yield entry, twin


def _skeleton(name: str) -> str:
    if name.isascii():
        return fold(name)
    # Hardly any name is not, and everyone waits for the first listing.
    from switchboard.settings.rules.look_alikes import skeleton  # noqa: PLC0415

    return skeleton(name)


RENAME = "choose another `suiteName` in `switchboard.config.json`"


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
    merged: MergedLayers, at: tuple[str, ...], message: str, hint: str, warnings: list[Problem]
) -> None:
    layer = merged.layer_near(at)
    if layer is not None:
        warnings.append(layer.problem(at, message, hint, "warning"))
