"""What exactly would run, as one digest.

A workspace is somebody else's until its user has looked at it. What the user trusts is not a name
but everything that decides what runs, so that any later change asks again.
"""

import os
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from switchboard.children.schema import Seal, ServerEntry
from switchboard.config.keys import Section
from switchboard.settings.consent.digests import (
    file_digest_of,
    is_code,
    outside_digest,
    tree_digest,
    tree_folders,
)
from switchboard.settings.consent.named_files import named_files, named_folders
from switchboard.settings.server_fields import SERVER

_VERSION = "switchboard.trust/2"
# How the names of files begin that no word names as a whole.
_KINDS = ("part", "program", "module", "control", "link", "outside", "folder")


def sealed(
    entry: ServerEntry,
    workspace: str,
    shown: Mapping[str, Any] = {},
    *,
    path: str = "",
    binding: bool = True,
) -> ServerEntry:
    """The server with the fingerprint of how it is written, before `${VAR}` is filled.

    Filled values are left out on purpose: a rotated token is not a changed server. `shown` are the
    words that the workspace says of its suite elsewhere, `path` is where its user's programs are.
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
    own = entry.env.get("PATH", "")
    seal = Seal(stated=stated, words=words, cwd=entry.cwd, path=own or path, binding=binding)
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
            case "members":
                # Names first, as older versions had it: without any, prints stay as they are.
                found[field.name] = sorted(value)
                if value:
                    found[f"{field.name}_as_written"] = dict(value)
            case "unless-default" if value != SERVER.default(field):
                found[field.name] = value
            case "sandboxed":
                sandbox[field.name.removeprefix("sandbox_")] = value
            case _:
                pass
    # Nothing for a server that is not confined, as before there were any that are.
    return found if entry.sandbox_profile == "none" else {**found, "sandbox": sandbox}


def bound_values(section: Section, values: Mapping[str, Any]) -> dict[str, Any]:
    """Of the values that a file writes, those that trust is bound to, by the rows of the table."""
    bound = {key for key, row in section.fields_of(section.file).items() if row.bound != "no"}
    return {key: value for key, value in values.items() if key in bound}


def fingerprint(seal: Seal, workspace: str) -> str:
    """The digest of what is stated and of what the files of the workspace hold right now."""
    return _digest({"stated": seal.stated, "files": digests_of_files(seal, workspace)})


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
    """The files whose change changes the fingerprint, as people see them."""
    found: dict[str, None] = {}
    for name in digests_of_files(seal, workspace):
        found[name.partition(":")[2] if name.partition(":")[0] in _KINDS else name] = None
    return tuple(found)


def files_to_watch(seal: Seal, workspace: str) -> list[str]:
    """The paths whose change may change a fingerprint: as they are named, and where they lie."""
    found: dict[str, None] = {}
    root = workspace.rstrip(os.sep) + os.sep
    for name, named in named_files(seal, workspace):
        if name not in seal.words and not os.path.lexists(named):
            continue
        path = os.path.realpath(named)
        if not path.startswith(root) and not os.path.normpath(named).startswith(root):
            continue
        # A file that is not there yet may come; most words that are no file begin with a dash.
        may_come = name in seal.words and not (name.startswith("-") or os.path.lexists(path))
        if os.path.isfile(path) or may_come:
            found |= dict.fromkeys((os.path.normpath(named), path))
    for _, folder in named_folders(seal, workspace):
        found |= dict.fromkeys((folder, *tree_folders(folder)))
    return list(found)


def digests_of_files(seal: Seal, workspace: str) -> dict[str, str]:
    """The digests of what a command line leads to, by the name that leads there.

    `python server.py` stays the same command when the repository changes what it does.
    """
    found: dict[str, str] = {}
    root = workspace.rstrip(os.sep) + os.sep
    seen: set[str] = set()
    for name, named in named_files(seal, workspace):
        if "\0" in named or (name not in seal.words and named in seen):
            continue
        seen.add(named)
        if name not in seal.words and not os.path.lexists(named):
            continue
        path = os.path.realpath(named)
        if path.startswith(root):
            if os.path.isfile(path):
                found[name] = file_digest_of(path)
        elif os.path.normpath(named).startswith(root) and os.path.lexists(named):
            # A link of the workspace that leads out of it.
            found[f"link:{name}"] = f"{path} {outside_digest(path)}"
        elif os.path.isabs(name) and is_code(path) and (digest := outside_digest(path)):
            found[f"outside:{name}"] = digest
    for name, folder in named_folders(seal, workspace):
        found[name] = tree_digest(folder)
    return found


def _digest(what: dict[str, Any]) -> str:
    canonical = msgspec.json.encode({"version": _VERSION, **what}, order="sorted")
    from hashlib import sha256  # noqa: PLC0415 - as above

    return sha256(canonical).hexdigest()
