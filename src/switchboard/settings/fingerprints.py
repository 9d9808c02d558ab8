"""What exactly would run, as one digest.

A workspace is somebody else's until its user has looked at it. What the user trusts is not a name
but everything that decides what runs, so that any later change asks again.
"""

# On the cold-start path, where pathlib would double the cost.
# ruff: noqa: PTH113, PTH118, PTH123

import hashlib
import os
from collections.abc import Mapping
from typing import Any

import msgspec

from switchboard.children.schema import ServerEntry

_VERSION = "switchboard.trust/1"


def fingerprint(entry: ServerEntry, workspace: str) -> str:
    """The digest of a server as it is written, before `${VAR}` is filled.

    Filled values are left out on purpose: a rotated token is not a changed server.
    """
    auth = None if entry.auth is None else msgspec.to_builtins(entry.auth)
    return _digest(
        {
            "kind": "server",
            "workspace": workspace,
            "name": entry.name,
            "transport": entry.transport,
            "command": entry.command,
            "args": list(entry.args),
            "env": entry.env,
            "secret_env": entry.secret_env,
            "url": entry.url,
            "headers": sorted(entry.headers),
            "auth": auth,
            "cwd": entry.cwd,
            "inherit_env": entry.inherit_env,
            "files": _files_of((entry.command, *entry.args), entry.cwd, workspace),
        }
    )


def command_fingerprint(name: str, fields: Mapping[str, Any], workspace: str) -> str:
    """The digest of a command tool as it is written."""
    return _digest(
        {"kind": "command", "workspace": workspace, "name": name, "fields": dict(fields)}
    )


def _files_of(words: tuple[str, ...], cwd: str, workspace: str) -> dict[str, str]:
    """The digests of files of the workspace that a command line names.

    `python server.py` stays the same command when the repository changes what it does.
    """
    found: dict[str, str] = {}
    for word in words:
        path = os.path.realpath(os.path.join(cwd or workspace, word))
        if word and path.startswith(workspace + os.sep) and os.path.isfile(path):
            try:
                with open(path, "rb") as file:
                    found[word] = hashlib.file_digest(file, "sha256").hexdigest()
            except OSError:
                found[word] = "unreadable"
    return found


def _digest(what: dict[str, Any]) -> str:
    canonical = msgspec.json.encode({"version": _VERSION, **what}, order="sorted")
    return hashlib.sha256(canonical).hexdigest()
