"""Folders and files that nobody but their owner can reach."""

import os
import stat
from pathlib import Path

_OTHERS = 0o077
_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW


class NotPrivate(Exception):  # noqa: N818 - states what is
    """What lies there is a link, belongs to somebody else, or is no plain file."""


def private_folder(path: Path) -> None:
    """Make the folder, or close it to others. Raises `NotPrivate` or `OSError`."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        found = path.lstat()
        if not stat.S_ISDIR(found.st_mode):
            raise NotPrivate(f"`{path}` is not a folder") from None
        if found.st_uid != os.getuid():
            raise NotPrivate(f"`{path}` belongs to user {found.st_uid}") from None
        if found.st_mode & _OTHERS:
            path.chmod(0o700)


def check_private_file(path: Path) -> os.stat_result:
    """What lies there is a file of ours alone. Raises `NotPrivate` or `OSError`."""
    found = path.lstat()
    if not stat.S_ISREG(found.st_mode):
        raise NotPrivate(f"`{path}` is a link or no plain file")
    if found.st_uid != os.getuid():
        raise NotPrivate(f"`{path}` belongs to user {found.st_uid}")
    # A second name would be a second way in.
    if found.st_nlink > 1:
        raise NotPrivate(f"`{path}` has a second name")
    if found.st_mode & _OTHERS:
        path.chmod(0o600)
    return found


def open_private(path: Path, flags: int) -> int:
    """A descriptor of a file of ours alone, made if `flags` say so. Raises as above."""
    try:
        handle = os.open(path, flags | _FLAGS, 0o600)
    except OSError as error:
        if path.is_symlink():
            raise NotPrivate(f"`{path}` is a link or no plain file") from error
        raise
    try:
        check_private_file(path)
    except BaseException:
        os.close(handle)
        raise
    return handle


def sync_folder(path: Path) -> None:
    """Bring the names in a folder to disk."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
