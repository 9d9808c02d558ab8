"""Digests of files and folders, as cheap as they can be and never without bound."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from switchboard.settings.consent.looking import Unbound, counted, landed, looking
from switchkit.files import open_plain

# Beyond these a file, or a file of a folder, counts by its identity: what it says of itself when it
# is changed in any way.
_MOST_BYTES = 32 << 20
_MOST_OF_A_FOLDER = 8 << 20
_MOST_READ = 5_000
# Beyond this a folder is not looked at any further, and is nothing that could be trusted.
_MOST_FILES = 20_000
_MOST_WATCHED = 50
# No repository can bring a file into the first, and programs read no code from it. What Python has
# made of sources is not read where it is started by us: see `children.starting.bytecode`.
_GIT = ".git"
_BYTECODE = "__pycache__"
_OTHERS_WRITE = 0o022
_CODE = (".py", ".js", ".mjs", ".cjs", ".ts", ".sh", ".rb", ".pl", ".php", ".lua", ".jar", ".ps1")


def file_digest_of(path: str) -> str:
    """Of what a file holds; of its identity where it is too large to be read again and again.

    One file is read once in a look, under however many names. Raises `Unbound`.
    """
    # It loads slowly, and most entries come from no workspace.
    from hashlib import file_digest  # noqa: PLC0415

    try:
        with open(path, "rb", opener=open_plain) as file:
            about = os.fstat(file.fileno())
            here = identity(about)
            if about.st_size > _MOST_BYTES:
                return here
            look = looking()
            if ("file", here) not in look.known:
                look.read(about.st_size)
                look.known["file", here] = file_digest(file, "sha256").hexdigest()
            return look.known["file", here]
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


def tree_digest(folder: str, *, with_bytecode: bool = False) -> str:
    """Of all files of a folder and of where its links lead, by what they hold if that is not much.

    Raises `Unbound` where there are too many of them, or one that has no contents of its own.
    """
    look = looking()
    key = ("tree", folder, with_bytecode)
    if key not in look.known:
        look.known[key] = _tree_digest(folder, with_bytecode=with_bytecode)
    return look.known[key]


def _tree_digest(folder: str, *, with_bytecode: bool) -> str:
    from hashlib import sha256  # noqa: PLC0415 - as above

    whole = sha256()
    left = _MOST_OF_A_FOLDER
    for number, (name, path) in enumerate(_tree(folder, with_bytecode=with_bytecode)):
        if number >= _MOST_FILES:
            raise Unbound
        told = ""
        try:
            if os.path.islink(path):
                told = f"link {os.readlink(path)} "
            real = landed(path)
            about = os.stat(real)
            if stat.S_ISFIFO(about.st_mode):
                # Whoever writes to a pipe decides what is read from it.
                raise Unbound
            if stat.S_ISREG(about.st_mode) and number < _MOST_READ and about.st_size <= left:
                left -= about.st_size
                told += file_digest_of(real)
            elif stat.S_ISREG(about.st_mode):
                told += identity(about)
        except OSError:
            told += "unreadable"
        whole.update(os.fsencode(name) + b"\0" + os.fsencode(told) + b"\0")
    return whole.hexdigest()


def tree_files(folder: str, *, with_bytecode: bool = False) -> Iterator[str]:
    """The files that count in the digest of a folder."""
    for _, path in islice(_tree(folder, with_bytecode=with_bytecode), _MOST_FILES):
        yield path


def tree_folders(folder: str) -> Iterator[str]:
    """The folders below it, where files may come and go."""
    for number, (_, place) in enumerate(_folders(folder, with_bytecode=False)):
        if number >= _MOST_WATCHED:
            return
        yield place


def identity(about: os.stat_result) -> str:
    """What no file keeps when it is changed or replaced."""
    parts = (about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)
    return "is " + "-".join(map(str, parts))


def _tree(folder: str, *, with_bytecode: bool) -> Iterator[tuple[str, str]]:
    """The name and the path of each file and link, those in linked folders as well."""
    for name, place in _folders(folder, with_bytecode=with_bytecode):
        try:
            with os.scandir(place) as found:
                inner = sorted(counted(found), key=lambda each: each.name)
        except OSError:
            # Told as a file that cannot be read.
            yield name, place
            continue
        for each in inner:
            if each.is_symlink() or not each.is_dir(follow_symlinks=False):
                yield os.path.join(name, each.name), each.path


def _folders(folder: str, *, with_bytecode: bool) -> Iterator[tuple[str, str]]:
    """Each folder once, by name and path; links lead on, also out of the workspace."""
    seen: set[tuple[int, int]] = set()
    waiting = [("", folder)]
    while waiting:
        name, named = waiting.pop()
        place = landed(named)
        looking().known["place", place] = place
        try:
            about = os.stat(place)
        except OSError:
            yield name, place
            continue
        if (about.st_dev, about.st_ino) in seen:
            continue
        seen.add((about.st_dev, about.st_ino))
        yield name, place
        inner: list[str] = []
        with suppress(OSError), os.scandir(place) as found:
            inner = sorted(
                each.name for each in counted(found) if _leads_on(each, with_bytecode=with_bytecode)
            )
        waiting += [(os.path.join(name, each), os.path.join(place, each)) for each in inner[::-1]]
        if len(waiting) > _MOST_FILES:
            raise Unbound


def _leads_on(each: "os.DirEntry[str]", *, with_bytecode: bool) -> bool:
    if each.name == _GIT and not each.is_symlink():
        return False
    if each.name == _BYTECODE and not with_bytecode:
        return False
    try:
        if each.is_symlink():
            return os.path.isdir(landed(each.path))
        return each.is_dir(follow_symlinks=False)
    except OSError:
        return False
