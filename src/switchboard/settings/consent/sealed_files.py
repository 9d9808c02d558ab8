"""The files that a command line leads to: which they are, what is in them, and who watches them."""

import os
from collections.abc import Iterator
from contextlib import suppress

from switchboard.children.schema import Seal
from switchboard.settings.consent.digests import (
    file_digest_of,
    is_code,
    outside_digest,
    tree_digest,
    tree_folders,
)
from switchboard.settings.consent.folder_state import folder_state
from switchboard.settings.consent.looking import Unbound, landed, one_look, reached
from switchboard.settings.consent.named_files import named_by
from switchkit.git.ground import ground_of
from switchkit.platform.paths import true_path

# How the names of files begin that no word names as a whole.
_KINDS = ("part", "program", "module", "control", "link", "outside", "folder")
_ANY_FILE = "folder:any file of this folder"
_ANY_FILE_AROUND = "folder:any file of this repository"


def hashed_files(seal: Seal, workspace: str) -> tuple[str, ...]:
    """The files whose change changes the fingerprint, as people see them."""
    found: dict[str, None] = {}
    try:
        names = digests_of_files(seal, workspace)
    except Unbound:
        return ()
    for name in names:
        found[name.partition(":")[2] if name.partition(":")[0] in _KINDS else name] = None
    return tuple(found)


def why_whole(seal: Seal, workspace: str) -> str:
    """Why any change in the workspace asks again; empty where only the code that it names does."""
    try:
        return named_by(seal, workspace).why_whole
    except Unbound:
        return ""


def data_files(seal: Seal, workspace: str) -> tuple[str, ...]:
    """The files of a command line whose change changes nothing, as people see them."""
    try:
        return named_by(seal, workspace).data
    except Unbound:
        return ()


def files_to_watch(seal: Seal, workspace: str) -> list[str]:
    """The paths whose change may change a fingerprint: as they are named, and where they lie."""
    found: dict[str, None] = {}
    # What is too much to be looked at is watched as far as that went.
    with one_look(), suppress(Unbound):
        for path in _watched(seal, workspace):
            found[path] = None
    return list(found)


def _watched(seal: Seal, workspace: str) -> Iterator[str]:
    ground = _ground(workspace)
    root = ground.rstrip(os.sep) + os.sep
    leads = named_by(seal, workspace)
    words = frozenset(seal.words)
    for name, named in leads.files:
        if "\0" in named or (name not in words and not os.path.lexists(reached(named))):
            continue
        path = landed(named)
        if not path.startswith(root) and not os.path.normpath(named).startswith(root):
            continue
        # A file that is not there yet may come; most words that are no file begin with a dash.
        may_come = name in words and not (name.startswith("-") or os.path.lexists(path))
        if os.path.isfile(path) or may_come:
            yield os.path.normpath(named)
            yield path
    for _, folder in (*leads.folders, *([("", ground)] if leads.why_whole else ())):
        yield folder
        yield from tree_folders(folder)


def digests_of_files(seal: Seal, workspace: str, *, may_be_whole: bool = True) -> dict[str, str]:
    """The digests of what a command line leads to, by the name that leads there.

    `python server.py` stays the same command when the repository changes what it does. Raises
    `Unbound` where that cannot be told. Without `may_be_whole` see `named_by`.
    """
    with one_look() as look:
        key = ("digests", seal, workspace, may_be_whole)
        if key not in look.known:
            found: dict[str, str] = {}
            for name, digest in _digests(seal, workspace, may_be_whole=may_be_whole):
                # Two files of one name in two folders are two.
                unique = name if name not in found else f"{name} ({len(found)})"
                found[unique] = digest
            look.known[key] = found
        return look.known[key]


def _digests(seal: Seal, workspace: str, *, may_be_whole: bool) -> Iterator[tuple[str, str]]:
    ground = _ground(workspace)
    root = ground.rstrip(os.sep) + os.sep
    words, seen = frozenset(seal.words), set[str]()
    leads = named_by(seal, workspace, may_be_whole=may_be_whole)
    for name, named in dict.fromkeys(leads.files):
        if "\0" in named or (name not in words and named in seen):
            continue
        seen.add(named)
        # First: most words are no files, and a clone may bring thousands of them.
        if not os.path.lexists(reached(named)):
            continue
        path = landed(named)
        if path.startswith(root):
            if os.path.isfile(path):
                yield name, file_digest_of(path)
        elif os.path.normpath(named).startswith(root):
            # A link of the workspace that leads out of it.
            yield f"link:{name}", f"{path} {outside_digest(path)}"
        elif _counts_outside(name, path) and (digest := outside_digest(path)):
            yield f"outside:{name}", digest
    for name, folder in leads.folders:
        yield name, tree_digest(folder, with_bytecode=not seal.shuts_bytecode)
    # Of a folder that is not there, nothing can run.
    if leads.why_whole and os.path.isdir(whole := true_path(ground)):
        is_all = whole == true_path(workspace)
        yield _ANY_FILE if is_all else _ANY_FILE_AROUND, folder_state(whole, leads.left_out)


def _ground(workspace: str) -> str:
    """As it is written where it is the workspace itself."""
    ground = ground_of(workspace)
    return workspace if ground == true_path(workspace) else ground


def _counts_outside(name: str, path: str) -> bool:
    """Whether a file that came with no workspace is what a command line runs, or obeys."""
    kind, _, rest = name.partition(":")
    if kind in ("control", "program"):
        return os.path.isfile(path)
    named = rest if kind in _KINDS else name
    return (os.path.isabs(named) or ".." in named.split(os.sep)) and is_code(path)
