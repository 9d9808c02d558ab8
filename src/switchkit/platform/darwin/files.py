"""macOS: files and folders by calls of its own, and of its file system."""

import fcntl
import os
import struct
import tempfile

from switchkit.platform.darwin import calls, layouts

# A handle that stands for a file and keeps no disk from being taken out.
HANDLE_ONLY = layouts.OPEN_FOR_EVENTS


def foreign_disk(path: str) -> str:
    """Which file system a path lies on that is another system's. Nobody is known to keep a home so.

    A disk in the network refuses sockets and locks by itself.
    """
    del path
    return ""


def renamed_in(handle: int) -> "set[str] | None":
    raise OSError(f"{handle} is no descriptor that tells of names")


def watch_folders(folders: "list[int]") -> int:
    raise OSError(f"{len(folders)} folders cannot be watched by one descriptor that can be read")


def watch_writes(files: "list[int]") -> int:
    raise OSError(f"{len(files)} files cannot be watched by one descriptor that can be read")


def folder_identity(path: str) -> str:
    """What tells a folder from any other, also from a later one at its path. Raises `OSError`."""
    found = os.stat(path)
    return f"{found.st_dev:x}-{found.st_ino:x}-{getattr(found, 'st_birthtime', '')}"


def scratch_file(name: str) -> int:
    """A file whose name is gone at once. Raises `OSError`."""
    handle, path = tempfile.mkstemp(prefix=name)
    os.unlink(path)
    return handle


def clone_file(source: str, target: str, mode: int) -> bool:
    """Make a new file that shares the blocks of another. False if the disk cannot.

    Raises `OSError`.
    """
    try:
        calls.clone(os.fsencode(source), os.fsencode(target))
    except OSError as error:
        if error.errno in layouts.CANNOT_SHARE:
            return False
        raise OSError(error.errno, error.strerror, target) from None
    os.chmod(target, mode)
    return True


def punch_hole(handle: int, length: int) -> bool:
    """Free the disk space of the first bytes of a file; offsets and writers are unaffected.

    Whole blocks only.
    """
    try:
        # `f_bsize` is what is best read at once there, which may be much more.
        block = os.fstatvfs(handle).f_frsize or 1
        whole = length // block * block
        wanted = struct.pack(layouts.PUNCH_FORMAT, 0, 0, 0, whole)
        fcntl.fcntl(handle, layouts.PUNCH_HOLE, wanted)
    except OSError:
        return False
    return True
