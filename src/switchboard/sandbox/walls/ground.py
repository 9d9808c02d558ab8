"""What of the machine itself shows in a sandbox.

For an ordinary user everything, read-only: the kernel keeps it from what is not the user's affair.
Root may read all there is, so root's sandboxes show what programs need, and of that nothing that
its owner has closed to others.
"""

import os
import stat
import time

from msgspec import Struct

from switchboard.sandbox.paths import is_within

# The folders of programs. What else a command needs is opened by its path.
_FOLDERS = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/gnu", "/etc"),
    # Links to these are in the folders above.
    *("/var/lib/ca-certificates", "/var/cache/fontconfig"),
    # How many processors there are, and how much memory.
    *("/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/fs/cgroup"),
)
_LINKS = ("/var/run", "/var/lock")
# Settings of the machine: some are secret.
_SETTINGS = ("/etc", "/usr/local/etc")
_READABLE = stat.S_IROTH
_ENTERED = stat.S_IROTH | stat.S_IXOTH
_AGE_S = 30.0
_MOST = 20_000


class ShownMachine(Struct, frozen=True):
    """What shows for root: folders, links by where they stand, and what is hidden in it."""

    folders: tuple[str, ...]
    links: tuple[tuple[str, str], ...]
    hidden: tuple[str, ...]

    def shows(self, path: str) -> bool:
        """Whether a path lies in it."""
        places = (*self.folders, *(place for place, _ in self.links))
        return any(is_within(path, each) for each in places)


class _Closed(Struct, frozen=True):
    """What was closed to others in a folder, as long as its folders have not changed."""

    paths: tuple[str, ...]
    changes: tuple[tuple[str, int], ...]
    until: float


_known: dict[str, _Closed] = {}


def ground() -> ShownMachine | None:
    """What root sees; nothing where the user is another one, who sees all of it."""
    return shown_machine() if os.getuid() == 0 else None


def shown_machine() -> ShownMachine:
    """The folders of programs, without what is closed to others."""
    present = [path for path in (*_FOLDERS, *_LINKS) if os.path.lexists(path)]
    folders = tuple(path for path in present if not os.path.islink(path) and path not in _LINKS)
    return ShownMachine(
        folders=folders,
        links=tuple((path, os.readlink(path)) for path in present if os.path.islink(path)),
        hidden=tuple(path for each in _SETTINGS for path in closed_to_others(each)),
    )


def closed_to_others(folder: str) -> tuple[str, ...]:
    """The files and folders below one that not everybody may read.

    Remembered until one of its folders changes. A file that everybody could read until now is
    noticed a little later.
    """
    known = _known.get(folder)
    if known is not None and time.monotonic() < known.until and _is_as_it_was(known):
        return known.paths
    paths: list[str] = []
    changes: list[tuple[str, int]] = []
    left = [folder]
    while left and len(changes) < _MOST:
        inner = left.pop()
        try:
            changes.append((inner, os.stat(inner, follow_symlinks=False).st_ctime_ns))
            with os.scandir(inner) as entries:
                found = list(entries)
        except OSError:
            continue
        for entry in found:
            mode = entry.stat(follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode) and mode & _ENTERED == _ENTERED:
                left.append(entry.path)
            elif (not stat.S_ISLNK(mode) and not mode & _READABLE) or stat.S_ISDIR(mode):
                paths.append(entry.path)
    _known[folder] = _Closed(tuple(sorted(paths)), tuple(changes), time.monotonic() + _AGE_S)
    return _known[folder].paths


def _is_as_it_was(known: _Closed) -> bool:
    try:
        return all(os.stat(path).st_ctime_ns == changed for path, changed in known.changes)
    except OSError:
        return False
