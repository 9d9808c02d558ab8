"""A workspace may hide more than its user does, but never show or open what its user did not."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from switchboard.children.schema import ServerEntry
from switchboard.config.keys import Section
from switchboard.config.layers import Layer, MergedLayers
from switchboard.config.problems import Problem
from switchboard.config.strict import Items, Truth
from switchboard.core.catalog.visibility import fits
from switchboard.core.origins import Scope
from switchboard.settings.sections import Timeouts
from switchboard.settings.server_fields import SANDBOX, SUITE

_HINT = "set it in the `switchboard.config.json` of your home"


def admitted(
    merged: MergedLayers,
    layer: Layer,
    section: Section,
    values: Mapping[str, Any],
    problems: list[Problem],
) -> dict[str, Any]:
    """The values of a layer without those that a workspace may not decide, by the rows of a table.

    What is left out is told, with the place where it is written.
    """
    if layer.scope is not Scope.WORKSPACE or section.is_named:
        return dict(values)
    fields = section.fields_of(section.file)
    below = merged.tree.get(section.name, {}) if section.name else merged.tree
    kept: dict[str, Any] = {}
    for key, value in values.items():
        field = fields.get(key)
        why = ""
        if field is not None and field.workspace == "never":
            why = "only its user may decide this"
        elif field is not None and field.workspace == "tightens":
            # What has no order is for the section itself to narrow, and closed where it does not.
            is_judged = field.order or section.admit is None
            widens = is_judged and field.widens(value, below.get(key, section.default(field)))
            why = "it may ask for more, never for less" if widens else ""
        if not why:
            kept[key] = value
        elif value != {}:
            at = (section.name, key) if section.name else (key,)
            message = f"`{key}` is ignored in a workspace: {why}"
            hint = "set it in the `config.toml` of your home"
            problems.append(layer.problem(at, message, hint, "warning"))
    return kept


def narrowed_tools(
    merged: MergedLayers, layer: Layer, fields: dict[str, Any], problems: list[Problem]
) -> dict[str, Any]:
    """The tools that a workspace shows are among those of its user."""
    del problems
    below = merged.tree.get("tools", {})
    return narrow(below, fields) if layer.scope is Scope.WORKSPACE else fields


def narrow(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Allow and deny lists of two scopes: denials add up, allowances only shrink."""
    joined = dict(above)
    if "deny" in below and "deny" in above:
        joined["deny"] = [
            *below["deny"],
            *(name for name in above["deny"] if name not in below["deny"]),
        ]
    if "allow" in below and "allow" in above:
        joined["allow"] = [
            name for name in above["allow"] if any(fits(name, known) for known in below["allow"])
        ]
    return joined


def narrowed_server(entry: ServerEntry, below: ServerEntry) -> ServerEntry:
    """A server in the place of another: no more believed, in a sandbox at least as tight."""
    entry = replace(entry, trust_annotations=entry.trust_annotations and below.trust_annotations)
    if below.sandbox_profile == "none":
        return entry
    tighter: dict[str, Any] = {}
    for field in SANDBOX:
        ours, theirs = getattr(entry, field.name), getattr(below, field.name)
        if isinstance(field.kind, Truth):
            tighter[field.name] = ours and theirs
        elif isinstance(field.kind, Items):
            tighter[field.name] = tuple(each for each in ours if each in theirs)
        else:
            tighter[field.name] = theirs if ours == "none" else ours
    if below.limits:
        tighter["limits"] = _narrowest(entry.limits or {}, below.limits)
    return replace(entry, **tighter)


def with_users_limits(below: Mapping[str, Any], fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields that a workspace lays over a server of its user, which it may bound further."""
    if "limits" not in below or "limits" not in fields:
        return fields
    return {**fields, "limits": _narrowest(fields["limits"], below["limits"])}


def _narrowest(limits: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    # Few servers have limits, and everyone waits for the first listing.
    from switchboard.sandbox.limits import narrowest  # noqa: PLC0415

    return narrowest(limits, others)


def narrowed_suites(
    merged: MergedLayers, layer: Layer, suites: Mapping[str, Any], problems: list[Problem]
) -> dict[str, Any]:
    """The suites of a workspace without what it may not decide.

    It may decide everything of its own servers: those wait for trust. Of a server that is its
    user's own it may hide more, and wait for less; anything else is ignored with a warning.
    """
    if layer.scope is not Scope.WORKSPACE:
        return dict(suites)
    rules = SUITE.fields_of(SUITE.file)
    owners = merged.layers_by_name("mcp_servers")
    kept: dict[str, Any] = {}
    for name, suite in suites.items():
        below = merged.tree.get("suites", {}).get(name, {})
        fields = dict(suite)
        if "expose" in fields:
            fields["expose"] = narrow(below.get("expose", {}), fields["expose"])
        layers = owners.get(name, [])
        if layers and not any(each.scope is Scope.WORKSPACE for each in layers):
            # Whether the tools stand alone or in a suite is for whose server it is to say.
            if fields.get("expose", {}).pop("as", None):
                message = f"`expose` is ignored in a workspace: the server `{name}` is your own"
                at = ("suites", name, "expose")
                problems.append(layer.problem(at, message, _HINT, "warning"))
            for key, value in [*fields.items()]:
                rule = rules[key].workspace
                if rule == "sets" or (rule == "tightens" and _tightens(merged, name, key, value)):
                    continue
                del fields[key]
                message = f"`{key}` is ignored in a workspace: the server `{name}` is your own"
                problems.append(layer.problem(("suites", name, key), message, _HINT, "warning"))
        kept[name] = fields
    return kept


def _tightens(merged: MergedLayers, name: str, key: str, value: Any) -> bool:
    """Whether the value of a suite hides more, or waits for less, than what its user has."""
    timeouts, suite = merged.tree.get("timeouts", {}), merged.tree.get("suites", {}).get(name, {})
    match key:
        case "rpcTimeoutMs":
            server = merged.tree["mcp_servers"][name].get("rpc_timeout_ms")
            return value <= suite.get(key, server or timeouts.get("rpcMs", Timeouts().rpc_ms))
        case "idleMs":
            longest = suite.get(key, timeouts.get("idleMs", Timeouts().idle_ms))
            # 0 keeps the child for ever.
            return 0 < value <= (longest or float("inf"))
        case _:
            return value is False
