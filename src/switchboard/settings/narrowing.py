"""A workspace may hide more than its user does, but never show or open what its user did not."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from msgspec.structs import replace

from switchboard.children.schema import ServerEntry
from switchboard.config.layers import Layer, Merged
from switchboard.config.problems import Problem
from switchboard.core.origins import Scope
from switchboard.settings.sections import Timeouts

_HINT = "set it in the `switchboard.config.json` of your home"
# Who may answer for risky calls, from the widest on.
_CHANNELS = ("any", "console", "none")


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
            name
            for name in above["allow"]
            if any(name == known or fnmatchcase(name, known) for known in below["allow"])
        ]
    return joined


def opens_the_gate(merged: Merged, key: str, value: Any) -> bool:
    """Whether a value lets more people answer than the files below do."""
    if key != "approval_channel":
        return False
    below = merged.tree.get(key, _CHANNELS[0])
    return _CHANNELS.index(value) < _CHANNELS.index(below)


def narrowed_server(entry: ServerEntry, below: ServerEntry) -> ServerEntry:
    """A server in the place of another: no more believed, in a sandbox at least as tight."""
    entry = replace(entry, trust_annotations=entry.trust_annotations and below.trust_annotations)
    if below.sandbox_profile == "none":
        return entry
    loose = entry.sandbox_profile == "none"
    return replace(
        entry,
        sandbox_profile=below.sandbox_profile if loose else entry.sandbox_profile,
        allow_network=entry.allow_network and below.allow_network,
        read_roots=tuple(each for each in entry.read_roots if each in below.read_roots),
        writable_roots=tuple(each for each in entry.writable_roots if each in below.writable_roots),
        read_env_files=entry.read_env_files and below.read_env_files,
    )


def narrowed_suites(
    merged: Merged, layer: Layer, suites: Mapping[str, Any], problems: list[Problem]
) -> dict[str, Any]:
    """The suites of a workspace without what it may not decide.

    It may decide everything of its own servers: those wait for trust. Of a server that is its
    user's own it may hide more, and wait for less; anything else is ignored with a warning.
    """
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
            for key in [key for key in fields if not _narrows(merged, name, key, fields[key])]:
                del fields[key]
                message = f"`{key}` is ignored in a workspace: the server `{name}` is your own"
                problems.append(layer.problem(("suites", name, key), message, _HINT, "warning"))
        kept[name] = fields
    return kept


def _narrows(merged: Merged, name: str, key: str, value: Any) -> bool:
    match key:
        case "expose" | "summaryMaxChars":
            return True
        case "relay":
            return value is False
        case "rpcTimeoutMs":
            server = merged.tree["mcp_servers"][name].get("rpc_timeout_ms")
            default = server or _timeout(merged, "rpcMs", Timeouts().rpc_ms)
            return value <= _suite(merged, name).get(key, default)
        case "idleMs":
            default = _timeout(merged, "idleMs", Timeouts().idle_ms)
            # 0 keeps the child for ever.
            longest = _suite(merged, name).get(key, default) or float("inf")
            return 0 < value <= longest
        case _:
            return False


def _suite(merged: Merged, name: str) -> Mapping[str, Any]:
    return merged.tree.get("suites", {}).get(name, {})


def _timeout(merged: Merged, key: str, default: int) -> int:
    return merged.tree.get("timeouts", {}).get(key, default)
