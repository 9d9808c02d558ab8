"""The merged tree as values: servers, suites and sections."""

import os
from collections.abc import Mapping
from typing import Any, cast

from msgspec import convert, to_builtins

from switchboard.children.exposure import SuiteSettings
from switchboard.children.schema import Account, OAuth, ServerEntry
from switchboard.config.locate import expand_user
from switchboard.core.network.egress import egress_from, written_egress
from switchboard.core.origins import Origin
from switchboard.people.options import PeopleOptions
from switchboard.settings.fields import (
    APPROVALS,
    DAEMON,
    INTROSPECTION,
    LISTENER,
    LOGGING,
    LOGIN,
    NATURAL,
    PEOPLE,
    RESULTS,
    RUNS,
    SURFACE,
    TIMEOUTS,
    VAULT,
)
from switchboard.settings.sections import ToolFilters
from switchboard.settings.server_fields import OVERRIDES, SERVER, SUITE, profile_of
from switchboard.settings.server_rules import transport_of
from switchboard.vault.options import VaultOptions

Tree = Mapping[str, Any]
_SECTIONS = {
    "introspection": INTROSPECTION,
    "faces": SURFACE,
    "results": RESULTS,
    "timeouts": TIMEOUTS,
    "listener": LISTENER,
    "logging": LOGGING,
    "keeping": DAEMON,
    "runs": RUNS,
    "interpreting": NATURAL,
    "login": LOGIN,
    "approvals": APPROVALS,
}


def entry_from_fields(name: str, fields: Tree, origin: Origin, workspace: str) -> ServerEntry:
    """A server from fields that have been checked."""
    values = SERVER.read(fields)
    values |= {
        "transport": transport_of(fields),
        "command": str(fields.get("command") or "").strip(),
        "cwd": os.path.join(workspace, fields.get("cwd") or "").rstrip(os.sep) or os.sep,
    }
    if "egress" in values:
        values["egress"] = egress_from(values["egress"])
    values["sandbox_profile"] = profile_of(fields)
    if "auth" in values:
        values["auth"] = auth_from_fields(values["auth"])
    if "accounts" in values:
        values["accounts"] = tuple(
            _account(name, fields) for name, fields in values["accounts"].items()
        )
    return ServerEntry(name=name, origin=origin, **values)


def fields_from_entry(entry: ServerEntry) -> dict[str, Any]:
    """The fields that would make this server again."""
    values = {field.name: to_builtins(getattr(entry, field.name)) for field in SERVER.fields}
    values["egress"] = written_egress(entry.egress)
    values["accounts"] = {
        each["name"]: {key: value for key, value in each.items() if key != "name" and value}
        for each in values["accounts"]
    }
    return {
        key: list(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else value
        for key, value in values.items()
        if value not in ("", (), {}, None)
    }


def auth_from_fields(fields: Tree) -> OAuth:
    """OAuth settings from fields that have been checked."""
    known = {key: value for key, value in fields.items() if value and key != "scopes"}
    return OAuth(scopes=tuple(fields.get("scopes") or ()), **known)


def _account(name: str, fields: Tree) -> Account:
    auth = fields.get("auth")
    return Account(
        name=name,
        auth=auth_from_fields(auth) if auth else None,
        match=tuple(fields.get("match") or ()),
        default=bool(fields.get("default")),
    )


def suites_from_tree(tree: Tree) -> dict[str, SuiteSettings]:
    """The settings of every suite that has some."""
    return {name: _suite(fields) for name, fields in tree.get("suites", {}).items()}


def suite_overrides(suite: SuiteSettings | None) -> dict[str, Any]:
    """What a suite's settings change of its server."""
    if suite is None:
        return {}
    values = ((name, getattr(suite, name)) for name in OVERRIDES)
    return {name: value for name, value in values if value is not None}


def sections_from_tree(tree: Tree) -> dict[str, Any]:
    """The sections that are read as they are written, by the attributes of `Settings`."""
    read = {
        attribute: section.into(**section.read(tree.get(section.name, {})))
        for attribute, section in _SECTIONS.items()
        if section.into is not None
    }
    # It has tables in it, one for each group.
    return {**read, "people": convert(PEOPLE.read(tree.get("people", {})), PeopleOptions)}


def vault_from_tree(tree: Tree, home: str, user_home: str) -> VaultOptions:
    """Where secrets are. Files that are named without a folder lie in the home of Switchboard."""
    values = VAULT.read(tree.get("vault", {}))
    for name in ("key_file", "token_file", "ca_file"):
        if values.get(name):
            values[name] = os.path.join(home, expand_user(values[name], user_home))
    return VaultOptions(**values)


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
    values = SUITE.read(fields)
    values |= {
        "allow": None if allow is None else tuple(allow),
        "deny": tuple(expose.get("deny", ())),
        "expose": expose.get("as"),
    }
    return SuiteSettings(**values)
