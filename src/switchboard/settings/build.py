"""The merged tree as values: servers, suites and sections."""

# On the cold-start path, where pathlib would double the cost.
# ruff: noqa: PTH118

import os
from collections.abc import Mapping
from typing import Any, cast

from switchboard.children.exposure import Introspection, SuiteSettings
from switchboard.children.schema import OAuth, ServerEntry
from switchboard.config.locate import expand_user
from switchboard.core.origins import Origin
from switchboard.settings.sections import Keeping, Listener, Logging, Timeouts, ToolFilters
from switchboard.settings.server_rules import transport_of

Tree = Mapping[str, Any]

_TIMEOUTS = {
    "childSpawnMs": "child_spawn_ms",
    "rpcMs": "rpc_ms",
    "idleMs": "idle_ms",
    "longestMs": "longest_ms",
}
_SUITE_FIELDS = {
    "suiteName": "suite_name",
    "description": "description",
    "overrideDescription": "override_description",
    "summaryMaxChars": "summary_max_chars",
    "resultMode": "result_mode",
    "rpcTimeoutMs": "rpc_timeout_ms",
    "idleMs": "idle_ms",
    "framing": "framing",
    "protocol": "protocol",
    "scope": "scope",
    "inheritEnv": "inherit_env",
    "toolPrefix": "tool_prefix",
    "relay": "relay",
}
_SUITE_OVERRIDES = (
    *("rpc_timeout_ms", "framing", "protocol", "scope", "inherit_env"),
    *("expose", "tool_prefix", "relay"),
)
_PLAIN_FIELDS = (
    *("framing", "protocol", "scope", "description", "suite_description", "inherit_env", "url"),
    *("sandbox_profile", "allow_network", "read_env_files"),
    *("expose", "tool_prefix"),
)


def entry_from_fields(name: str, fields: Tree, origin: Origin, workspace: str) -> ServerEntry:
    """A server from fields that have been checked."""
    auth = fields.get("auth")
    plain = {key: fields[key] for key in _PLAIN_FIELDS if fields.get(key)}
    timeout = fields.get("rpc_timeout_ms")
    return ServerEntry(
        name=name,
        transport=cast("Any", transport_of(fields)),
        command=str(fields.get("command") or "").strip(),
        args=tuple(fields.get("args") or ()),
        env=dict(fields.get("env") or {}),
        secret_env=dict(fields.get("secret_env") or {}),
        headers=dict(fields.get("headers") or {}),
        auth=None if auth is None else auth_from_fields(auth),
        cwd=os.path.join(workspace, fields.get("cwd") or "").rstrip(os.sep) or os.sep,
        rpc_timeout_ms=None if timeout is None else int(timeout),
        read_roots=tuple(fields.get("read_roots") or ()),
        writable_roots=tuple(fields.get("writable_roots") or ()),
        relay=fields.get("relay", True),
        trust_annotations=fields.get("trust_annotations", True),
        origin=origin,
        **plain,
    )


def fields_from_entry(entry: ServerEntry) -> dict[str, Any]:
    """The fields that would make this server again."""
    fields: dict[str, Any] = {
        "transport": entry.transport,
        "command": entry.command,
        "args": list(entry.args),
        "env": dict(entry.env),
        "secret_env": dict(entry.secret_env),
        "url": entry.url,
        "headers": dict(entry.headers),
        "cwd": entry.cwd,
        "inherit_env": entry.inherit_env,
        "framing": entry.framing,
        "protocol": entry.protocol,
        "scope": entry.scope,
        "expose": entry.expose,
        "tool_prefix": entry.tool_prefix,
        "relay": entry.relay,
        "trust_annotations": entry.trust_annotations,
        "rpc_timeout_ms": entry.rpc_timeout_ms,
        "sandbox_profile": entry.sandbox_profile,
        "allow_network": entry.allow_network,
        "read_roots": list(entry.read_roots),
        "writable_roots": list(entry.writable_roots),
        "read_env_files": entry.read_env_files,
        "description": entry.description,
        "suite_description": entry.suite_description,
    }
    if entry.auth is not None:
        auth = {key: getattr(entry.auth, key) for key in entry.auth.__struct_fields__}
        fields["auth"] = {**auth, "scopes": list(entry.auth.scopes)}
    return {key: value for key, value in fields.items() if value not in ("", [], {}, None)}


def auth_from_fields(fields: Tree) -> OAuth:
    """OAuth settings from fields that have been checked."""
    known = {key: value for key, value in fields.items() if value and key != "scopes"}
    return OAuth(scopes=tuple(fields.get("scopes") or ()), **known)


def suites_from_tree(tree: Tree) -> dict[str, SuiteSettings]:
    """The settings of every suite that has some."""
    return {name: _suite(fields) for name, fields in tree.get("suites", {}).items()}


def suite_overrides(suite: SuiteSettings | None) -> dict[str, Any]:
    """What a suite's settings change of its server."""
    if suite is None:
        return {}
    values = ((name, getattr(suite, name)) for name in _SUITE_OVERRIDES)
    return {name: value for name, value in values if value is not None}


def timeouts_from_tree(tree: Tree) -> Timeouts:
    fields = tree.get("timeouts", {})
    return Timeouts(**{ours: int(fields[key]) for key, ours in _TIMEOUTS.items() if key in fields})


def introspection_from_tree(tree: Tree) -> Introspection:
    fields = tree.get("introspection", {})
    default = Introspection()
    return Introspection(
        mode=fields.get("mode", default.mode),
        summary_max_chars=int(fields.get("summaryMaxChars", default.summary_max_chars)),
    )


def listener_from_tree(tree: Tree) -> Listener:
    fields = tree.get("server", {})
    chosen = {key: fields[key] for key in Listener.__struct_fields__ if key in fields}
    if "port" in chosen:
        chosen["port"] = int(chosen["port"])
    return Listener(**chosen)


def logging_from_tree(tree: Tree) -> Logging:
    fields = tree.get("logging", {})
    return Logging(**{key: fields[key] for key in Logging.__struct_fields__ if key in fields})


def keeping_from_tree(tree: Tree) -> Keeping:
    fields = tree.get("daemon", {})
    return Keeping(idle_ms=int(fields["idle_ms"])) if "idle_ms" in fields else Keeping()


def tools_from_tree(tree: Tree, workspace: str, user_home: str) -> ToolFilters:
    fields = tree.get("tools", {})
    allow = fields.get("allow")
    roots = (expand_user(each, user_home) for each in fields.get("roots", (workspace,)))
    return ToolFilters(
        allow=None if allow is None else tuple(allow),
        deny=tuple(fields.get("deny", ())),
        roots=tuple(os.path.normpath(os.path.join(workspace, each)) for each in roots),
    )


def _suite(fields: Tree) -> SuiteSettings:
    expose = fields.get("expose", {})
    allow = expose.get("allow")
    chosen = {ours: fields[key] for key, ours in _SUITE_FIELDS.items() if key in fields}
    for name in ("summary_max_chars", "rpc_timeout_ms", "idle_ms"):
        if name in chosen:
            chosen[name] = int(chosen[name])
    return SuiteSettings(
        allow=None if allow is None else tuple(allow),
        deny=tuple(expose.get("deny", ())),
        expose=expose.get("as"),
        **chosen,
    )
