"""The servers of all hosts, each once, in our own words."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from switchboard.children.secrets.texts import is_reference
from switchboard.cli.verbs.parts.importing.foreign_servers import (
    Candidate,
    PlainSecret,
    candidate_of,
    fault_at_home,
    plain_secrets,
)
from switchboard.config.itself import is_switchboard
from switchboard.core.catalog.names import tool_name
from switchboard.hosts.found import FoundHost, FoundHostFile
from switchboard.hosts.leftovers import launch_meaning
from switchboard.hosts.spelled import ForeignServer
from switchboard.settings.validate import name_marks


class ServerSource(Struct, frozen=True, kw_only=True):
    """Where a server was found."""

    host: str
    title: str
    file: str
    # Its name there.
    name: str
    # Whether the host has it in this project alone.
    is_local: bool = False


class FoundServer(Struct, frozen=True, kw_only=True):
    """One server, with every host that has it. A reason says why it stays there."""

    # Its name behind Switchboard.
    name: str
    sources: tuple[ServerSource, ...]
    # What is written, secrets replaced by references, and into which file of ours.
    fields: dict[str, Any] = {}
    into: str = ""
    secrets: tuple[PlainSecret, ...] = ()
    reason: str = ""
    remarks: tuple[str, ...] = ()
    # Whether Switchboard has it already.
    is_known: bool = False


def found_servers(
    hosts: Iterable[FoundHost],
    known: Mapping[str, Mapping[str, Any]],
    workspace: str,
    environ: Mapping[str, str],
) -> list[FoundServer]:
    """Every server in files of the user. `known` are those of our own home."""
    taking = _Taking(known, workspace, environ)
    for source, server in _every(hosts):
        taking.take(source, server)
    return [*_with_likeness(taking.found)]


def _with_likeness(found: Iterable[FoundServer]) -> Iterator[FoundServer]:
    """Say of servers that start the same program, or reach the same host, that they are alike."""
    first: dict[str, str] = {}
    for each in found:
        meant = _gist(each.fields)
        if each.reason or each.is_known or not meant:
            yield each
        elif like := first.get(meant):
            told = f"much like `{like}`, but not the same: look whether one of them is enough"
            yield replace(each, remarks=(*each.remarks, told))
        else:
            first[meant] = each.name
            yield each


def _gist(fields: Mapping[str, Any]) -> str:
    if url := fields.get("url"):
        return urlsplit(str(url)).netloc
    words = (str(fields.get("command") or ""), *map(str, fields.get("args") or ()))
    return next(iter(launch_meaning(words, "")), "")


def _every(hosts: Iterable[FoundHost]) -> Iterator[tuple[ServerSource, ForeignServer]]:
    for host in hosts:
        for file in host.files:
            if file.file.scope == "user":
                for server in file.servers:
                    yield _source(host, file, server), server
                for server in file.local_servers:
                    yield replace(_source(host, file, server), is_local=True), server


def _source(host: FoundHost, file: FoundHostFile, server: ForeignServer) -> ServerSource:
    return ServerSource(host=host.host.id, title=host.host.title, file=file.path, name=server.name)


class _Taking:
    """One server after the other, and what is known of those before it."""

    def __init__(
        self, known: Mapping[str, Mapping[str, Any]], workspace: str, environ: Mapping[str, str]
    ) -> None:
        self.found: list[FoundServer] = []
        self._known = known
        self._workspace = workspace
        self._environ = environ
        # What of names is taken: two that are told apart by case or a sign would both be left out.
        self._marks = {mark for name in known for mark in name_marks(name)}
        # By what they start or reach, values included: the same server of two hosts is one.
        self._by_meaning: dict[str, int] = {}

    def take(self, source: ServerSource, server: ForeignServer) -> None:
        """Note one server of one file."""
        words = (
            str(server.fields.get("command") or ""),
            *map(str, server.fields.get("args") or ()),
        )
        is_ours = is_switchboard(server.name, words[0], words[1:])
        if is_ours and is_switchboard(server.name, ""):
            return
        reason = server.reason or ("it is switched off there" if server.is_off else "")
        if is_ours:
            # Behind ourselves it would start us again, and so on.
            reason = "it is Switchboard itself, under another name"
        if reason:
            self.found.append(FoundServer(name=server.name, sources=(source,), reason=reason))
            return
        meaning = json.dumps(server.fields, sort_keys=True)
        if meaning in self._by_meaning:
            position = self._by_meaning[meaning]
            first = self.found[position]
            self.found[position] = replace(first, sources=(*first.sources, source))
            return
        made = self._made(source, server)
        if not made.reason:
            self._by_meaning[meaning] = len(self.found)
            self._marks |= name_marks(made.name)
        self.found.append(made)

    def _made(self, source: ServerSource, server: ForeignServer) -> FoundServer:
        # Two hosts may mean different servers by one name: then both are kept.
        for name in (server.name, tool_name(f"{server.name}_{source.host}")):
            candidate = self._candidate(name, source, server)
            if candidate.reason:
                return FoundServer(name=name, sources=(source,), reason=candidate.reason)
            if _same(self._known.get(name), candidate.fields, name):
                return FoundServer(name=name, sources=(source,), is_known=True)
            if not name_marks(name) & self._marks:
                made = _new(source, server, candidate)
                fault = fault_at_home(name, made.fields)
                return FoundServer(name=name, sources=(source,), reason=fault) if fault else made
        reason = f"two other servers have the name `{server.name}`, or one that is like it"
        return FoundServer(name=server.name, sources=(source,), reason=reason)

    def _candidate(self, name: str, source: ServerSource, server: ForeignServer) -> Candidate:
        cwd = str(server.fields.get("cwd") or "")
        if os.path.isabs(cwd) and not source.is_local:
            # It means this folder for every project, also where it is the one that we are in.
            return Candidate(name=name, file=source.file, reason="it runs in a folder of its own")
        return candidate_of(name, server.fields, source.file, self._workspace, self._environ)


def _new(source: ServerSource, server: ForeignServer, candidate: Candidate) -> FoundServer:
    fields, secrets = _put_away(candidate.name, candidate)
    # What is said of a secret in the open is no longer so once it is put away.
    told = tuple(f"`{each.key}` looks like a secret" for each in secrets)
    return FoundServer(
        name=candidate.name,
        sources=(source,),
        fields=fields,
        into=candidate.into,
        secrets=secrets,
        remarks=(
            *_about_name(source, candidate),
            *server.remarks,
            *_about_folders(source, candidate),
            *(each for each in candidate.remarks if not any(text in each for text in told)),
        ),
    )


def _about_name(source: ServerSource, candidate: Candidate) -> Iterator[str]:
    if candidate.name != source.name:
        yield f"it is `{source.name}` there; another server has that name, or one that is like it"


def _about_folders(source: ServerSource, candidate: Candidate) -> Iterator[str]:
    if source.is_local:
        yield "its host had it in this project alone; here it is for every project"
    if candidate.needs_workspace:
        yield f'with `start_in = "workspace"`: {candidate.needs_workspace}'
        yield "it starts in folders that you trust, and in no others: switchboard trust --folder"


def _put_away(name: str, candidate: Candidate) -> tuple[dict[str, Any], tuple[PlainSecret, ...]]:
    """The fields with references in place of secrets, and the secrets."""
    fields = dict(candidate.fields)
    moved: list[PlainSecret] = []
    for secret in plain_secrets(name, candidate.fields):
        reference = f"vault:{secret.place}"
        if not is_reference(reference):
            continue
        table = dict(fields[secret.field])
        if secret.field == "env":
            del table[secret.key]
            fields["secret_env"] = {**fields.get("secret_env", {}), secret.key: reference}
        else:
            table[secret.key] = reference
        fields[secret.field] = table
        if not table:
            del fields[secret.field]
        moved.append(secret)
    return fields, tuple(moved)


def _same(ours: Mapping[str, Any] | None, fields: Mapping[str, Any], name: str) -> bool:
    """Whether a server of ours is this one, its secrets put away perhaps."""
    if ours is None:
        return False
    wanted, _ = _put_away(name, Candidate(name=name, file="", fields=dict(fields)))
    return dict(ours) in (dict(fields), wanted)
