"""macOS: what is known of files today."""

import os
import tempfile


def clone_file(reading: int, writing: int) -> bool:
    del reading, writing
    return False


def folder_identity(path: str) -> str:
    """What tells a folder from any other, also from a later one at its path. Raises `OSError`."""
    found = os.stat(path)
    return f"{found.st_dev:x}-{found.st_ino:x}-{getattr(found, 'st_birthtime', '')}"


def punch_hole(handle: int, length: int) -> bool:
    del handle, length
    return False


def scratch_file(name: str) -> int:
    """A file whose name is gone at once. Raises `OSError`."""
    handle, path = tempfile.mkstemp(prefix=name)
    os.unlink(path)
    return handle


def watch_folders(folders: "list[int]") -> int:
    raise OSError(f"{len(folders)} folders cannot be watched by one descriptor")


def watch_writes(files: "list[int]") -> int:
    raise OSError(f"{len(files)} files cannot be watched by one descriptor")
