"""Putting a wrapper in front of a child, and taking it away again, byte for byte.

The child file itself is replaced last when a wrapper is put there, and first when it is taken away:
whatever happens in between, the child is either as it was or wrapped.
"""

import hashlib
import json
import os
import shlex
import stat
from typing import Any

import msgspec
from msgspec import Struct

from switchboard.config.documents import Document, is_inside, read_json_document
from switchboard.config.problems import ConfigInvalid, Problem
from switchboard.config.writing import refuse_link
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.origins import Scope
from switchboard.settings.files.wrapped_child import (
    CHILD_FILE,
    INSTRUCTIONS,
    ORIGINAL,
    is_wrapper,
    script_name,
)
from switchboard.settings.wrapping.descriptions import Descriptions
from switchboard.settings.wrapping.script import wrapper_script
from switchkit.files import make_folder, open_plain, replace_file
from switchkit.platform.paths import true_path

_KEPT_CHILD = f"{ORIGINAL}/{CHILD_FILE}"
_RECORD = f"{ORIGINAL}/wrap.json"
_SCHEMA = "switchboard.wrap/1"
_MODE = 0o644


class Wrapping(Struct, frozen=True, kw_only=True):
    """What was done in the folder of a child. Paths are those in the folder."""

    written: tuple[str, ...]
    removed: tuple[str, ...] = ()
    # What stays because somebody else wrote or changed it.
    kept: tuple[str, ...] = ()


class _Record(Struct, frozen=True):
    schema: str
    # The digests of what was written.
    files: dict[str, str]


def wrap(folder: str, name: str, said: Descriptions, *, workspace: str) -> Wrapping:
    """Put a wrapper in front of the child of this folder. Raises a fault, or `ConfigInvalid`."""
    _check_place(folder, name, workspace)
    document, before, mode = _child_file(folder)
    if is_wrapper(document):
        raise _refused(
            "already-wrapped", f"`{name}` is wrapped", f"switchboard unwrap {shlex.quote(name)}"
        )
    placed = {
        _KEPT_CHILD: before,
        script_name(name): wrapper_script(name, os.path.relpath(workspace, folder)).encode(),
        INSTRUCTIONS: _instructions(name, said),
        CHILD_FILE: _front(document, name, said),
    }
    kept: tuple[str, ...] = ()
    unfinished = _record(folder)
    for path in (_KEPT_CHILD, script_name(name), INSTRUCTIONS):
        found = _bytes_of(folder, path)
        if found is None or (
            unfinished is not None and unfinished.files.get(path) == _digest(found)
        ):
            continue
        if path != INSTRUCTIONS:
            why = f"`{path}` is there already, and somebody else wrote it"
            raise _refused("in-the-way", why, f"move it out of the folder of `{name}`")
        # It says more than we could.
        del placed[path]
        kept = (path,)
    record = _Record(_SCHEMA, {path: _digest(data) for path, data in placed.items()})
    try:
        make_folder(os.path.join(folder, ORIGINAL))
        _write(folder, _RECORD, msgspec.json.encode(record) + b"\n", _MODE)
        for path, data in placed.items():
            _write(folder, path, data, mode if path in (_KEPT_CHILD, CHILD_FILE) else _MODE)
    except OSError as error:
        raise _unwritable(error) from error
    return Wrapping(written=tuple(placed), kept=kept)


def unwrap(folder: str, name: str, *, workspace: str, force: bool = False) -> Wrapping:
    """Take the wrapper away; the child file is what it was. Raises a fault, or `ConfigInvalid`.

    Nothing is done where something has changed since. `force` puts the original back all the same,
    and leaves whatever else has changed, or was not written by us.
    """
    _check_place(folder, name, workspace)
    document, _, _ = _child_file(folder)
    record = _record(folder)
    if record is None and not is_wrapper(document):
        raise _refused(
            "not-wrapped", f"`{name}` is not wrapped", f"switchboard wrap {shlex.quote(name)}"
        )
    changed = _changed(folder, record, wrapped=is_wrapper(document))
    if not force and (changed or record is None):
        what = (
            f"changed since it was wrapped: {', '.join(changed)}"
            if record is not None
            else "`switchboard wrap` did not write its wrapper"
        )
        hint = (
            f"switchboard unwrap {shlex.quote(name)} --force puts the original back and leaves the"
            " rest"
        )
        raise _refused("wrapper-changed", f"`{name}` stays wrapped: {what}", hint)
    removed: list[str] = []
    try:
        if is_wrapper(document):
            original = _bytes_of(folder, _KEPT_CHILD)
            if original is None:
                raise _refused("original-missing", f"`{name}` has no `{_KEPT_CHILD}`", "restore it")
            _write(folder, CHILD_FILE, original, _mode_of(folder, _KEPT_CHILD))
        ours = set(record.files if record is not None else ()) - {CHILD_FILE, *changed}
        for path in sorted({*ours, _KEPT_CHILD, _RECORD}):
            if os.path.lexists(os.path.join(folder, path)):
                os.unlink(os.path.join(folder, path))
                removed.append(path)
        if not os.listdir(os.path.join(folder, ORIGINAL)):
            os.rmdir(os.path.join(folder, ORIGINAL))
    except OSError as error:
        raise _unwritable(error) from error
    others = (INSTRUCTIONS, script_name(name))
    kept = tuple(each for each in others if os.path.lexists(os.path.join(folder, each)))
    return Wrapping(written=(CHILD_FILE,), removed=tuple(removed), kept=kept)


def _check_place(folder: str, name: str, workspace: str) -> None:
    if script_name(name) != os.path.basename(script_name(name)) or not name.isprintable():
        raise _refused(
            "name-unusable", f"`{name}` cannot be the name of a file", "rename the child"
        )
    for path in (folder, os.path.join(folder, ORIGINAL)):
        # What is written through a link may land anywhere.
        if os.path.islink(path) or not is_inside(true_path(path), workspace):
            raise _refused("outside", f"`{name}` lies outside of the workspace", "edit it there")
    for path in (CHILD_FILE, script_name(name), INSTRUCTIONS, _KEPT_CHILD, _RECORD):
        refuse_link(os.path.join(folder, path))


def _child_file(folder: str) -> tuple[Document, bytes, int]:
    """The child file: what it says, its bytes and its mode."""
    path = os.path.join(folder, CHILD_FILE)
    problems: list[Problem] = []
    document = read_json_document(path, Scope.WORKSPACE, problems)
    raw = _bytes_of(folder, CHILD_FILE)
    if document is None or raw is None:
        raise ConfigInvalid(problems or [Problem(path=path, message="there is no such file")])
    return document, raw, _mode_of(folder, CHILD_FILE)


def _front(document: Document, name: str, said: Descriptions) -> bytes:
    """The child file that runs the wrapper."""
    own = document.tree
    words: dict[str, Any] = {
        "name": name,
        "description": own.get("description"),
        "switchboardDescription": said.switchboard or own.get("switchboardDescription"),
    }
    tree = {key: value for key, value in words.items() if value}
    tree["command"] = {"cmd": "node", "args": [script_name(name)]}
    return (json.dumps(tree, indent=2, ensure_ascii=False) + "\n").encode()


def _instructions(name: str, said: Descriptions) -> bytes:
    own = f"Your role is to use the MCP server `{name}` for whoever asks."
    return ((said.claude or own).rstrip("\n") + "\n").encode()


def _record(folder: str) -> _Record | None:
    raw = _bytes_of(folder, _RECORD)
    try:
        return None if raw is None else msgspec.json.decode(raw, type=_Record)
    except msgspec.MsgspecError:
        return None


def _changed(folder: str, record: _Record | None, *, wrapped: bool) -> list[str]:
    """What is not as we wrote it. What an earlier try has taken away already does not count."""
    changed: list[str] = []
    for path, digest in (record.files if record is not None else {}).items():
        found = _bytes_of(folder, path)
        if found is None and not wrapped:
            continue
        is_back = path == CHILD_FILE and not wrapped
        if not is_back and (found is None or _digest(found) != digest):
            changed.append(path)
    return changed


def _bytes_of(folder: str, path: str) -> bytes | None:
    where = os.path.join(folder, path)
    try:
        if not stat.S_ISREG(os.lstat(where).st_mode):
            raise _refused("in-the-way", f"`{path}` is no plain file", "move it away")
        with open(where, "rb", opener=open_plain) as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _unwritable(error) from error


def _mode_of(folder: str, path: str) -> int:
    return os.lstat(os.path.join(folder, path)).st_mode & 0o777


def _write(folder: str, path: str, data: bytes, mode: int) -> None:
    replace_file(os.path.join(folder, path), data, mode=mode)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _refused(reason: str, message: str, hint: str) -> Fault:
    return Fault(FaultCode.FAILED_PRECONDITION, reason, message, hint=hint)


def _unwritable(error: OSError) -> Fault:
    why = (error.strerror or "it is not possible").lower()
    message = f"the folder of the child cannot be read or written: {why}"
    return Fault(FaultCode.UNAVAILABLE, "folder-unwritable", message, private=str(error))
