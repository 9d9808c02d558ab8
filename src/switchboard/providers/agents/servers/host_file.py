"""The files in which other hosts keep servers: read, never written, and never an error."""

import hashlib
import os
import stat
from collections.abc import Mapping
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct

from switchboard.config.json_comments import without_comments

Host = Literal["Claude Code", "VS Code", "Cursor"]

# The user's file of Claude Code also keeps what was typed, and grows with it.
MAX_HOST_BYTES = 32 * 1024 * 1024


class HostFile(Struct, frozen=True, kw_only=True):
    """One place, and whose it is."""

    path: str
    host: Host
    # Whether it lies in the workspace: then it is somebody else's, until its user trusts it.
    is_workspace: bool = False


class HostTree(Struct, frozen=True, kw_only=True):
    """What a file holds, and a digest of its bytes."""

    tree: dict[str, Any] = {}
    digest: str = ""
    # Why it is not used; empty when it is, or is not there.
    problem: str = ""


def read_host_file(file: HostFile) -> HostTree:
    """The tree of a file; an empty one where it is not there or makes no sense."""
    try:
        raw = _bytes_of(file.path)
    except (FileNotFoundError, NotADirectoryError):
        return HostTree()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        return HostTree(problem=f"cannot be read: {(why or 'unknown reason').lower()}")
    digest = hashlib.sha256(raw).hexdigest()
    try:
        tree: Any = msgspec.json.decode(without_comments(raw.decode()))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return HostTree(problem="is not JSON", digest=digest)
    if not isinstance(tree, dict):
        return HostTree(problem="holds no JSON object", digest=digest)
    return HostTree(tree=cast("dict[str, Any]", tree), digest=digest)


def _bytes_of(path: str) -> bytes:
    # A pipe that nobody writes to must not keep a run waiting.
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode):
            raise ValueError("it is not a regular file")
        if about.st_size > MAX_HOST_BYTES:
            raise ValueError(f"it is larger than {MAX_HOST_BYTES // 1024 // 1024} MiB")
        return file.read(MAX_HOST_BYTES)


def members(tree: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """The object below some keys; an empty one where there is none."""
    found: Any = tree
    for key in keys:
        found = cast("dict[str, Any]", found).get(key) if isinstance(found, dict) else None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def words(tree: Mapping[str, Any], key: str) -> set[str]:
    """The strings of a list; none where there is no list."""
    found: Any = tree.get(key)
    items = cast("list[Any]", found) if isinstance(found, list) else []
    return {item for item in items if isinstance(item, str)}
