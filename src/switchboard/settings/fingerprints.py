"""What exactly would run, as one digest.

A workspace is somebody else's until its user has looked at it. What the user trusts is not a name
but everything that decides what runs, so that any later change asks again.
"""

import os
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from switchboard.children.schema import Seal, ServerEntry
from switchboard.config.keys import Section
from switchboard.config.placeholders import has_placeholder
from switchboard.settings.server_fields import SERVER
from switchkit.files import open_plain

_VERSION = "switchboard.trust/2"


def sealed(
    entry: ServerEntry, workspace: str, shown: Mapping[str, Any] = {}, *, binding: bool = True
) -> ServerEntry:
    """The server with the fingerprint of how it is written, before `${VAR}` is filled.

    Filled values are left out on purpose: a rotated token is not a changed server. `shown` are the
    words that the workspace says of its suite elsewhere.
    """
    stated = _digest(
        {
            "kind": "server",
            "workspace": workspace,
            "name": entry.name,
            "shown": dict(shown),
            **_bound_fields(entry),
        }
    )
    words = (entry.command, *entry.args)
    if entry.natural_language and entry.instructions:
        # What a model is told decides what runs.
        words += (entry.instructions,)
    seal = Seal(stated=stated, words=words, cwd=entry.cwd, binding=binding)
    return replace(entry, fingerprint=fingerprint(seal, workspace), seal=seal)


def _bound_fields(entry: ServerEntry) -> dict[str, Any]:
    """What trust is bound to, by the rows of the table.

    A value that is written down by older versions must stay as it is, or trust would be lost.
    """
    found: dict[str, Any] = {}
    sandbox: dict[str, Any] = {}
    for field in SERVER.fields:
        value = getattr(entry, field.name)
        match field.bound:
            case "value":
                found[field.name] = value
            case "names":
                found[field.name] = sorted(value)
            case "unless-default" if value != SERVER.default(field):
                found[field.name] = value
            case "sandboxed":
                sandbox[field.name.removeprefix("sandbox_")] = value
            case _:
                pass
    # Whose value is looked up, and where, is stated; what it is changes as tokens do.
    looked_up = {name: text for name, text in entry.headers.items() if _is_looked_up(text)}
    if looked_up:
        found["looked_up"] = looked_up
    # Nothing for a server that is not confined, as before there were any that are.
    return found if entry.sandbox_profile == "none" else {**found, "sandbox": sandbox}


def _is_looked_up(text: str) -> bool:
    return has_placeholder(text) or text.startswith(("env:", "vault:"))


def bound_values(section: Section, values: Mapping[str, Any]) -> dict[str, Any]:
    """Of the values that a file writes, those that trust is bound to, by the rows of the table."""
    bound = {key for key, row in section.fields_of(section.file).items() if row.bound != "no"}
    return {key: value for key, value in values.items() if key in bound}


def fingerprint(seal: Seal, workspace: str) -> str:
    """The digest of what is stated and of what the files of the workspace hold right now."""
    return _digest({"stated": seal.stated, "files": _digests_of_files(seal, workspace)})


def seal_of(
    kind: str,
    name: str,
    fields: Mapping[str, Any],
    workspace: str,
    *,
    words: tuple[str, ...],
    cwd: str,
    binding: bool,
) -> Seal:
    """What decides what an entry runs, as it is written. Its command line is run in `cwd`."""
    stated = _digest({"kind": kind, "workspace": workspace, "name": name, "fields": dict(fields)})
    return Seal(stated=stated, words=words, cwd=cwd, binding=binding)


def hashed_files(seal: Seal, workspace: str) -> tuple[str, ...]:
    """The files whose change changes the fingerprint, as they are named."""
    return tuple(_digests_of_files(seal, workspace))


def files_to_watch(seal: Seal, workspace: str) -> list[str]:
    """The paths whose change may change a fingerprint: as they are named, and where they lie."""
    found: dict[str, None] = {}
    for word, path in _files_of(seal, workspace):
        # A file that is not there yet may come; most words that are no file begin with a dash.
        if os.path.isfile(path) or not (word.startswith("-") or os.path.lexists(path)):
            named = os.path.join(seal.cwd or workspace, word)
            found |= dict.fromkeys((os.path.normpath(named), path))
    return list(found)


def _digests_of_files(seal: Seal, workspace: str) -> dict[str, str]:
    """The digests of files of the workspace that a command line names.

    `python server.py` stays the same command when the repository changes what it does.
    """
    # It loads slowly, and most entries come from no workspace.
    from hashlib import file_digest  # noqa: PLC0415

    found: dict[str, str] = {}
    for word, path in _files_of(seal, workspace):
        if os.path.isfile(path):
            try:
                with open(path, "rb", opener=open_plain) as file:
                    found[word] = file_digest(file, "sha256").hexdigest()
            except OSError:
                found[word] = "unreadable"
    return found


def _files_of(seal: Seal, workspace: str) -> Iterator[tuple[str, str]]:
    """The words of a command line that could name a file of the workspace, and their real paths."""
    for word in seal.words:
        if word and "\0" not in word:
            path = os.path.realpath(os.path.join(seal.cwd or workspace, word))
            if path.startswith(workspace.rstrip(os.sep) + os.sep):
                yield word, path


def _digest(what: dict[str, Any]) -> str:
    canonical = msgspec.json.encode({"version": _VERSION, **what}, order="sorted")
    from hashlib import sha256  # noqa: PLC0415 - as above

    return sha256(canonical).hexdigest()
