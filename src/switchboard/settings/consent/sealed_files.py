"""The files that a command line leads to: which they are, what is in them, and who watches them."""

import os

from switchboard.children.schema import Seal
from switchboard.settings.consent.digests import (
    file_digest_of,
    is_code,
    outside_digest,
    tree_digest,
    tree_folders,
)
from switchboard.settings.consent.named_files import named_files, named_folders

# How the names of files begin that no word names as a whole.
_KINDS = ("part", "program", "module", "control", "link", "outside", "folder")


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
