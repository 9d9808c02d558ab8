"""What exactly would run, as one digest.

A workspace is somebody else's until its user has looked at it. What the user trusts is not a name
but everything that decides what runs, so that any later change asks again.
"""

import hashlib
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
        }
    )


def command_fingerprint(name: str, fields: Mapping[str, Any], workspace: str) -> str:
    """The digest of a command tool as it is written."""
    return _digest(
        {"kind": "command", "workspace": workspace, "name": name, "fields": dict(fields)}
    )


def _digest(what: dict[str, Any]) -> str:
    canonical = msgspec.json.encode({"version": _VERSION, **what}, order="sorted")
    return hashlib.sha256(canonical).hexdigest()
