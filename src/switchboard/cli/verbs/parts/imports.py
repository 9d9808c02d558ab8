"""Servers that other clients keep in a project, in our own words."""

import os
import re
from typing import Any, cast

from msgspec import Struct

from switchboard.config.documents import read_json_document
from switchboard.config.itself import is_switchboard
from switchboard.config.problems import ConfigInvalid, Problem
from switchboard.core.origins import Scope
from switchboard.settings.files.file_layers import given_layer
from switchboard.settings.placing.workspace_needs import needed_of_workspace
from switchboard.settings.writing.edit import add_server

FOREIGN_FILES = (".mcp.json", ".vscode/mcp.json", ".cursor/mcp.json")
# How Claude Code, VS Code and Cursor name a variable of the environment.
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}")


class ImportedServer(Struct, frozen=True, kw_only=True):
    """A server of another client's file. A reason says why it was left where it is."""

    name: str
    file: str
    reason: str = ""
    # Why `start_in = "workspace"` was written into it.
    needs_workspace: str = ""


class Candidate(Struct, frozen=True, kw_only=True):
    """A server that could be taken over."""

    name: str
    file: str
    fields: dict[str, Any]
    reason: str = ""
    needs_workspace: str = ""


def candidates(workspace: str) -> list[Candidate]:
    """Every server of every foreign file. Raises `ConfigInvalid` for a file that cannot be read."""
    found: list[Candidate] = []
    for file in FOREIGN_FILES:
        path = os.path.join(workspace, file)
        if not os.path.isfile(path):
            continue
        problems: list[Problem] = []
        document = read_json_document(path, Scope.FLAG, problems)
        errors = [problem for problem in problems if problem.severity == "error"]
        if document is None or errors:
            raise ConfigInvalid(errors, workspace=workspace)
        servers: dict[str, Any] = given_layer(document, []).tree.get("mcp_servers", {})
        found += [_candidate(name, file, fields, workspace) for name, fields in servers.items()]
    return found


def take_over(candidate: Candidate, path: str, taken: set[str]) -> ImportedServer:
    """Write one server into our `mcp.json`, unless something speaks against it."""
    reason = candidate.reason
    if not reason and candidate.name in taken:
        reason = "a server of this name is already there"
    if not reason:
        try:
            add_server(path, candidate.name, candidate.fields, scope=Scope.WORKSPACE)
        except ConfigInvalid as error:
            reason = "; ".join(problem.message for problem in error.problems)
    return outcome_of(candidate, reason)


def outcome_of(candidate: Candidate, reason: str) -> ImportedServer:
    """What becomes of a server, or why it stays where it is."""
    return ImportedServer(
        name=candidate.name,
        file=candidate.file,
        reason=reason,
        needs_workspace="" if reason else candidate.needs_workspace,
    )


def _candidate(name: str, file: str, fields: dict[str, Any], workspace: str) -> Candidate:
    command, args = str(fields.get("command") or ""), fields.get("args") or ()
    if is_switchboard(name, command, args):
        return Candidate(name=name, file=file, fields={}, reason="it is Switchboard itself")
    ours = {key: value for key, value in fields.items() if key != "cwd"}
    reason = "it runs in a folder of its own" if fields.get("cwd") not in {None, "", "."} else ""
    ours, unfilled = _by_reference(ours)
    if unfilled:
        reason = f"Switchboard does not fill `{unfilled}`"
    needs = needed_of_workspace(command, args, workspace) if command else ""
    if needs and "start_in" not in ours:
        # Other hosts start everything there. Written down, it stays so wherever the entry goes.
        ours["start_in"] = "workspace"
    return Candidate(name=name, file=file, fields=ours, reason=reason, needs_workspace=needs)


def _by_reference(fields: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Variables of the environment become references; no value is ever looked up."""
    env = cast("dict[str, str]", fields.get("env") or {})
    matches = {key: _VARIABLE.fullmatch(value) for key, value in env.items()}
    secrets = {key: f"env:{match[1]}" for key, match in matches.items() if match}
    plain = {key: value for key, value in env.items() if key not in secrets}
    ours = {key: value for key, value in fields.items() if key != "env"}
    if plain:
        ours["env"] = plain
    if secrets:
        ours["secret_env"] = secrets
    return ours, _placeholder(ours)


def _placeholder(value: Any) -> str:
    """The first `${…}` anywhere in a value, or nothing."""
    if isinstance(value, str):
        match = re.search(r"\$\{[^}]*\}", value)
        return match[0] if match else ""
    if isinstance(value, dict):
        return _first_placeholder(list(cast("dict[str, Any]", value).values()))
    return _first_placeholder(cast("list[Any]", value)) if isinstance(value, list) else ""


def _first_placeholder(values: list[Any]) -> str:
    found = [_placeholder(value) for value in values]
    return next(filter(None, found), "")
