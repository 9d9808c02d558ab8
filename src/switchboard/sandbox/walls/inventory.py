"""What lies in the folders of a folder, as far as a sandbox has to know it; links not followed.

Nearest first, what was installed last, and no more folders than can be looked at for every start.
"""

import os
import time
from collections import deque

from msgspec import Struct

from switchboard.sandbox.walls.guarded_names import (
    PROTECTED_NAMES,
    is_secret,
    is_secret_folder,
)
from switchkit.platform.paths import folded

_GIT = ".git"
# Other people's code: many folders, and what their settings say is obeyed by nobody here.
_INSTALLED = frozenset({"node_modules", ".venv", "venv", "target", "vendor", "site-packages"})
_MOST_FOLDERS = 3_000
_MOST_KNOWN = 30_000
# A folder that changed just now may change again within the same tick of the clock.
_SETTLED_NS = 2_000_000_000


class _Listing(Struct, frozen=True):
    """What of one folder matters."""

    changed: int
    number: int
    folders: tuple[str, ...]
    secrets: tuple[str, ...]
    protected: tuple[str, ...]
    sockets: tuple[str, ...]


class Inventory(Struct):
    """What was found below a folder, nearest first."""

    repositories: list[str] = []
    secrets: list[str] = []
    # What says what runs, deeper than the folder itself.
    protected: list[str] = []
    # What is neither file, folder nor link.
    sockets: list[str] = []
    # False where there were more folders than are looked at.
    is_whole: bool = True


_known: dict[str, _Listing] = {}


def inventory(root: str) -> Inventory:
    """Look through a folder."""
    found = Inventory(repositories=[], secrets=[], protected=[], sockets=[])
    near, late = deque([(root, False)]), deque[tuple[str, bool]]()
    looked = 0
    while (near or late) and looked < _MOST_FOLDERS:
        folder, installed = (near or late).popleft()
        looked += 1
        if (listing := _listing(folder)) is None:
            continue
        if folder != root:
            if _GIT in map(folded, listing.protected):
                found.repositories.append(folder)
            elif not installed:
                found.protected += [os.path.join(folder, name) for name in listing.protected]
        found.secrets += [os.path.join(folder, name) for name in listing.secrets]
        found.sockets += [os.path.join(folder, name) for name in listing.sockets]
        for name in listing.folders:
            inner = installed or name in _INSTALLED
            (late if inner else near).append((os.path.join(folder, name), inner))
    found.is_whole = not (near or late)
    return found


def _listing(folder: str) -> _Listing | None:
    try:
        status = os.stat(folder, follow_symlinks=False)
        known = _known.get(folder)
        # Whoever writes in it cannot set back when it changed.
        if known and (known.changed, known.number) == (status.st_ctime_ns, status.st_ino):
            return known
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return None
    listing = _sorted_out(found, status)
    if time.time_ns() - status.st_ctime_ns > _SETTLED_NS:
        if len(_known) > _MOST_KNOWN:
            _known.clear()
        _known[folder] = listing
    return listing


def _sorted_out(entries: "list[os.DirEntry[str]]", status: os.stat_result) -> _Listing:
    folders, secrets, protected = list[str](), list[str](), list[str]()
    sockets = list[str]()
    for entry in entries:
        # A link by the name of a repository is looked at by whoever guards that.
        name = folded(entry.name)
        if name in PROTECTED_NAMES and (name == _GIT or not entry.is_symlink()):
            protected.append(entry.name)
        if entry.is_dir(follow_symlinks=False):
            if is_secret_folder(entry.name):
                secrets.append(entry.name)
            elif name != _GIT:
                folders.append(entry.name)
        elif is_secret(entry.name) and not entry.is_symlink():
            secrets.append(entry.name)
        elif not (entry.is_file(follow_symlinks=False) or entry.is_symlink()):
            sockets.append(entry.name)
    return _Listing(
        changed=status.st_ctime_ns,
        number=status.st_ino,
        folders=tuple(folders),
        secrets=tuple(secrets),
        protected=tuple(protected),
        sockets=tuple(sockets),
    )
