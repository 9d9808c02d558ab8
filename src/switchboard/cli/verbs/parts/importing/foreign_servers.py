"""Servers that other clients keep in a project, in our own words."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, cast

from msgspec import Struct

from switchboard.cli.verbs.parts.importing.open_secrets import open_secrets
from switchboard.cli.verbs.parts.importing.placeholders import Translation, Untranslatable
from switchboard.config.documents import Document, read_json_document, read_text
from switchboard.config.itself import is_switchboard
from switchboard.config.json_comments import without_comments
from switchboard.config.json_text import read_json
from switchboard.config.key_positions import KeyPath, dotted
from switchboard.config.placeholders import has_placeholder
from switchboard.config.problems import ConfigInvalid, Problem
from switchboard.core.origins import Scope
from switchboard.core.privacy.redaction import redacted_text
from switchboard.core.privacy.secret_names import is_secret_name
from switchboard.hosts.known_servers import purpose_of
from switchboard.settings.files.file_layers import given_layer, sidecar_layer
from switchboard.settings.placing.workspace_needs import needed_of_workspace
from switchboard.settings.writing.edit import add_server
from switchboard.settings.writing.toml_servers import add_toml_server

FOREIGN_FILES = (".mcp.json", ".vscode/mcp.json", ".cursor/mcp.json")
_COLLECTIONS = ("mcpServers", "mcp_servers", "servers")


class ImportedServer(Struct, frozen=True, kw_only=True):
    """A server of another client's file. A reason says why it was left where it is."""

    name: str
    file: str
    reason: str = ""
    # The file of ours that it was written into.
    into: str = ""
    # Why `start_in = "workspace"` was written into it.
    needs_workspace: str = ""
    # What is different from where it came from, or should be.
    remarks: tuple[str, ...] = ()


class UnreadFile(Struct, frozen=True, kw_only=True):
    """A file of another client that cannot be read."""

    file: str
    reason: str


class Candidate(Struct, frozen=True, kw_only=True):
    """A server that could be taken over."""

    name: str
    file: str
    fields: dict[str, Any] = {}
    # Whether it has placeholders, or is to get them, which `config.toml` alone fills in.
    is_filled: bool = False
    reason: str = ""
    needs_workspace: str = ""
    remarks: tuple[str, ...] = ()

    @property
    def into(self) -> str:
        """The file of ours that it belongs into."""
        return "config.toml" if self.is_filled else "mcp.json"


def candidates(
    workspace: str, environ: Mapping[str, str]
) -> tuple[list[Candidate], list[UnreadFile]]:
    """Every server of every foreign file, and the files that cannot be read."""
    found: list[Candidate] = []
    unread: list[UnreadFile] = []
    for file in FOREIGN_FILES:
        path = os.path.join(workspace, file)
        problems: list[Problem] = []
        text = read_text(path, problems) if os.path.lexists(path) else None
        document = None
        if text is not None:
            # Editors write comments into their files.
            plain = without_comments(text)
            document = read_json_document(path, Scope.FLAG, problems, text=plain)
        if errors := [each for each in problems if each.severity == "error"]:
            unread.append(UnreadFile(file=file, reason=_where(errors[0])))
        elif document is not None:
            found += _ForeignFile(document, file, workspace, environ).servers()
    return found, unread


def take_over(candidate: Candidate, folder: str, taken: set[str]) -> ImportedServer:
    """Write one server into a file of ours, unless something speaks against it."""
    reason = candidate.reason or (_TAKEN if candidate.name in taken else "")
    path = os.path.join(folder, candidate.into)
    if not reason:
        write = add_toml_server if candidate.is_filled else add_server
        try:
            write(path, candidate.name, candidate.fields, scope=Scope.WORKSPACE)
        except ConfigInvalid as error:
            reason = "; ".join(problem.message for problem in error.problems)
    return outcome_of(candidate, reason)


_TAKEN = "Switchboard has a server of this name already"


def planned(candidate: Candidate, taken: set[str]) -> ImportedServer:
    """What would become of it."""
    return outcome_of(candidate, candidate.reason or (_TAKEN if candidate.name in taken else ""))


def outcome_of(candidate: Candidate, reason: str) -> ImportedServer:
    """What becomes of a server, or why it stays where it is."""
    if reason:
        return ImportedServer(name=candidate.name, file=candidate.file, reason=reason)
    return ImportedServer(
        name=candidate.name,
        file=candidate.file,
        into=candidate.into,
        needs_workspace=candidate.needs_workspace,
        remarks=candidate.remarks,
    )


def candidate_of(
    name: str, fields: Mapping[str, Any], file: str, workspace: str, environ: Mapping[str, str]
) -> Candidate:
    """One server in the words of a `mcp.json`, wherever it comes from."""
    tree = {"mcpServers": {name: dict(fields)}}
    text = json.dumps(tree)
    document = Document(path=file, scope=Scope.FLAG, tree=tree, spots=read_json(text).spots)
    return next(_ForeignFile(document, file, workspace, environ).servers())


def fault_at_home(name: str, fields: Mapping[str, Any]) -> str:
    """Why a server cannot stand in a file of the user's home: such a file is of no use as a whole.

    Nothing where it can.
    """
    tree = {"mcpServers": {name: dict(fields)}}
    spots = read_json(json.dumps(tree)).spots
    problems: list[Problem] = []
    sidecar_layer(Document(path="", scope=Scope.HOME, tree=tree, spots=spots), problems)
    return "; ".join(each.message for each in problems if each.severity == "error")


class _ForeignFile:
    """One file of another client, read."""

    def __init__(
        self, document: Document, file: str, workspace: str, environ: Mapping[str, str]
    ) -> None:
        self._document = document
        self._file = file
        self._workspace = workspace
        self._environ = environ
        self._problems: list[Problem] = []

    def servers(self) -> Iterator[Candidate]:
        """Its servers, also those that cannot be used."""
        usable: dict[str, Any] = given_layer(self._document, self._problems).tree["mcp_servers"]
        for collection in _COLLECTIONS:
            named = self._document.tree.get(collection)
            if not isinstance(named, dict):
                continue
            for raw, fields in cast("dict[str, Any]", named).items():
                name, key = raw.strip(), f"{collection}.{raw}."
                said = [each for each in self._problems if f"{each.key}.".startswith(key)]
                if name in usable:
                    remarks = _remarks(
                        usable[name], ((each.key[len(key) :], each) for each in said)
                    )
                    yield self._candidate(name, usable[name], remarks)
                else:
                    yield Candidate(name=name, file=self._file, reason=_fault(fields, said))

    def _candidate(self, name: str, fields: dict[str, Any], said: Iterable[str]) -> Candidate:
        file, workspace = self._file, self._workspace
        command, args = str(fields.get("command") or ""), fields.get("args") or ()
        if is_switchboard(name, command, args):
            return Candidate(name=name, file=file, reason="it is Switchboard itself")
        translation = Translation(name, self._environ)
        try:
            needs = _folder(fields.get("cwd"), workspace)
            ours = translation.fields({key: each for key, each in fields.items() if key != "cwd"})
        except Untranslatable as why:
            return Candidate(name=name, file=file, reason=str(why))
        if command:
            args = cast("list[str]", ours.get("args") or [])
            needs = needs or needed_of_workspace(command, args, workspace)
            if translation.needs_workspace:
                needs = needs or "its arguments name this workspace"
            if needs and "start_in" not in ours:
                # Other hosts start everything there. Written down, it stays so wherever it goes.
                ours["start_in"] = "workspace"
        if command and "description" not in ours and (purpose := purpose_of(command, args)):
            ours["description"] = purpose
        in_the_open = tuple(open_secrets(name, ours))
        return Candidate(
            name=name,
            file=file,
            fields=ours,
            # Only there a variable can take the place of a secret. What has braces of its own would
            # be filled in as well.
            is_filled=translation.is_filled
            or bool(in_the_open and not has_placeholder(json.dumps(ours))),
            needs_workspace=needs if command else "",
            remarks=(
                *said,
                *(
                    f"its secret is not in the vault yet: switchboard vault put {each}"
                    for each in translation.asked
                ),
                *(each.remark for each in plain_secrets(name, ours)),
                *(f"{each.told}: {each.remedy}" for each in in_the_open),
            ),
        )


def _remarks(fields: Mapping[str, Any], said: Iterable[tuple[str, Problem]]) -> Iterator[str]:
    """What is said of keys that are left out, and of values that come over as they are."""
    kept = {dotted(path): text for path, text in _texts(fields)}
    for key, problem in said:
        if key not in kept:
            yield f"without `{_last(key)}`: {problem.message}"
        elif not has_placeholder(kept[key]) and not is_secret_name(_last(key)):
            # A placeholder is put into our words, and of a secret in the open more is said.
            yield problem.message


def _texts(value: Any, above: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    """Every text in the fields of a server, with the keys that lead to it."""
    if isinstance(value, Mapping):
        for key, each in cast("Mapping[str, Any]", value).items():
            yield from _texts(each, (*above, key))
    elif isinstance(value, list):
        for index, each in enumerate(cast("list[Any]", value)):
            yield from _texts(each, (*above, index))
    else:
        yield above, str(value)


def _fault(fields: Any, said: list[Problem]) -> str:
    """Why an entry is no server."""
    if isinstance(fields, dict) and cast("dict[str, Any]", fields).get("disabled"):
        return "it is switched off there"
    faults = [each.message for each in said if each.severity == "error"]
    return "; ".join(faults) or "it is no server that Switchboard can start"


def _folder(cwd: Any, workspace: str) -> str:
    """Why it starts in the workspace; nothing where that is left open."""
    if cwd in {None, "", "."}:
        return ""
    if cwd in {"${workspaceFolder}", "${workspaceRoot}", "${CLAUDE_PROJECT_DIR}", workspace}:
        return "it names the folder to start in"
    raise Untranslatable("it runs in a folder of its own")


class PlainSecret(Struct, frozen=True, kw_only=True):
    """A value that looks like a secret and stands in a file as it is."""

    # The field that holds it, and its name there.
    field: Literal["env", "headers"]
    key: str
    value: str
    # Where it would lie in the vault.
    place: str

    @property
    def remark(self) -> str:
        """What to do about it."""
        return (
            f"`{self.key}` looks like a secret, and both files keep it in plain text:"
            f" switchboard vault put {self.place}, then write `vault:{self.place}` in its place"
        )


def plain_secrets(name: str, fields: Mapping[str, Any]) -> Iterator[PlainSecret]:
    """The values of a server that belong into the vault."""
    tables: tuple[tuple[Literal["env", "headers"], str], ...] = (
        ("env", "env"),
        ("headers", "header"),
    )
    for field, kind in tables:
        for key, value in cast("dict[str, str]", fields.get(field) or {}).items():
            is_plain = "${" not in value and not value.startswith(("env:", "vault:"))
            if value and is_plain and (is_secret_name(key) or _holds_secret(value)):
                place = f"mcp/{name}/{kind}/{key}"
                yield PlainSecret(field=field, key=key, value=value, place=place)


def _holds_secret(value: str) -> bool:
    """Whether a value looks like a secret, or is JSON that gives one its name."""
    if redacted_text(value) != value:
        return True
    try:
        tree = json.loads(value) if value.lstrip().startswith("{") else None
    except (ValueError, RecursionError):
        return False
    return any(
        is_secret_name(name) and isinstance(text, str) and text for name, text in _members(tree)
    )


def _members(tree: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(tree, dict):
        for name, value in cast("dict[str, Any]", tree).items():
            yield name, value
            yield from _members(value)
    elif isinstance(tree, list):
        for value in cast("list[Any]", tree):
            yield from _members(value)


def _last(key: str) -> str:
    return key.rpartition(".")[2]


def _where(problem: Problem) -> str:
    where = f"line {problem.line}, column {problem.column}: " if problem.line else ""
    return f"{where}{problem.message}"
