"""macOS: most disks take `Work` for `work`, and one Unicode form of a name for another.

So a path is spelled as the disk has it before it is compared with anything. The same call tells
the one name of a folder that can be reached by two, as `/System/Volumes/Data/Users` for `/Users`.
"""

import fcntl
import os
import stat
from unicodedata import normalize

from switchkit.platform.darwin import layouts

# Nobody waits for the other end of a pipe that has a name.
_ONLY_LOOK = layouts.OPEN_FOR_EVENTS | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


def true_path(path: str) -> str:
    """A path in its one true spelling: without links, and with letters as the disk has them.

    What is not there yet is spelled as given, below the last folder that is.
    """
    return spelled(os.path.realpath(path))


def spelled(path: str) -> str:
    """The same for a path without links."""
    there, rest = path, ""
    while not (found := _told(there)):
        above, name = os.path.split(there)
        if above == there:
            found = there
            break
        there, rest = above, os.path.join(name, rest) if rest else name
    return os.path.join(found, rest) if rest else found


def _told(path: str) -> str:
    """What the disk calls it; "" if it is not there."""
    try:
        handle = os.open(path, _ONLY_LOOK)
    except OSError:
        return _listed(path)
    try:
        about = os.fstat(handle)
        if stat.S_ISDIR(about.st_mode) or about.st_nlink == 1:
            raw = fcntl.fcntl(handle, layouts.GET_PATH, bytes(layouts.PATH_BYTES))
            return os.fsdecode(layouts.text(raw, 0, layouts.PATH_BYTES))
    except OSError:
        pass
    finally:
        os.close(handle)
    # Of a file with several names the kernel may tell any.
    return _listed(path)


def _listed(path: str) -> str:
    """The same by the names in its folder, where it cannot be opened, as a socket."""
    above, name = os.path.split(path)
    try:
        wanted = os.lstat(path)
        names = os.listdir(above)
    except OSError:
        return ""
    if above == path:
        return path
    if name not in names:
        wanted_name = folded(name)
        alike = (each for each in names if folded(each) == wanted_name)
        name = next((each for each in alike if _is(os.path.join(above, each), wanted)), name)
    return os.path.join(spelled(above), name)


def folded(name: str) -> str:
    """What is the same for all names that the disk takes for one: a long s is an s there."""
    return normalize("NFD", normalize("NFD", name).casefold())


def _is(path: str, wanted: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.lstat(path), wanted)
    except OSError:
        return False
