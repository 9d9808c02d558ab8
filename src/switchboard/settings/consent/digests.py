"""Digests of files and folders, as cheap as they can be and never without bound."""

import os
import stat
from collections.abc import Iterator

from switchkit.files import open_plain

# Beyond these a file, or a file of a folder, counts by its identity: what it says of itself when it
# is changed in any way.
_MOST_BYTES = 32 << 20
_MOST_OF_A_FOLDER = 8 << 20
_MOST_FILES = 5_000
# Written by whoever only reads the code.
_SKIPPED = frozenset({".git", "__pycache__", ".pytest_cache", ".ruff_cache", ".mypy_cache"})
_OTHERS_WRITE = 0o022
_CODE = (".py", ".js", ".mjs", ".cjs", ".ts", ".sh", ".rb", ".pl", ".php", ".lua", ".jar", ".ps1")


def file_digest_of(path: str) -> str:
    """Of what a file holds; of its identity where it is too large to be read again and again."""
    # It loads slowly, and most entries come from no workspace.
    from hashlib import file_digest  # noqa: PLC0415

    try:
        with open(path, "rb", opener=open_plain) as file:
            about = os.fstat(file.fileno())
            if about.st_size > _MOST_BYTES:
                return identity(about)
            return file_digest(file, "sha256").hexdigest()
    except OSError:
        return "unreadable"


def outside_digest(path: str) -> str:
    """Of a file outside of the workspace; nothing for one that only the system changes."""
    try:
        about = os.stat(path)
    except OSError:
        return "missing"
    if about.st_uid == 0 and os.getuid() != 0 and not about.st_mode & _OTHERS_WRITE:
        return ""
    if not stat.S_ISREG(about.st_mode):
        return "no file"
    # Programs are large, and change when their user upgrades them.
    return file_digest_of(path) if about.st_size < 1 << 20 else identity(about)


def is_code(path: str) -> bool:
    """Whether a file may be what is run, and not what is worked on."""
    return os.path.isfile(path) and (path.endswith(_CODE) or os.access(path, os.X_OK))


def tree_digest(folder: str) -> str:
    """Of all files of a folder, by what they hold as far as that is not too much."""
    from hashlib import sha256  # noqa: PLC0415 - as above

    whole = sha256()
    left = _MOST_OF_A_FOLDER
    for number, path in enumerate(_tree(folder)):
        if number >= _MOST_FILES:
            whole.update(b"and more")
            break
        try:
            about = os.lstat(path)
            if stat.S_ISLNK(about.st_mode):
                told = f"link {os.readlink(path)}"
            elif not stat.S_ISREG(about.st_mode):
                continue
            elif about.st_size <= left:
                left -= about.st_size
                told = file_digest_of(path)
            else:
                told = identity(about)
        except OSError:
            told = "unreadable"
        whole.update(os.fsencode(os.path.relpath(path, folder)) + b"\0" + told.encode() + b"\0")
    return whole.hexdigest()


def tree_folders(folder: str) -> Iterator[str]:
    """The folders below it, where files may come and go."""
    for number, (place, folders, _) in enumerate(os.walk(folder)):
        if number >= _MOST_FILES // 100:
            return
        folders[:] = sorted(each for each in folders if each not in _SKIPPED)
        yield place


def identity(about: os.stat_result) -> str:
    """What no file keeps when it is changed or replaced."""
    parts = (about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)
    return "is " + "-".join(map(str, parts))


def _tree(folder: str) -> Iterator[str]:
    for place, folders, files in os.walk(folder):
        # Links are files here; where they lead is their own affair, which they say.
        files += [each for each in folders if os.path.islink(os.path.join(place, each))]
        folders[:] = sorted(each for each in folders if each not in _SKIPPED)
        yield from (os.path.join(place, each) for each in sorted(files))
