"""The state of every file of a folder: what stands for code that no command line names."""

import os
import stat
from collections.abc import Iterator

from switchboard.settings.consent.looking import Unbound, landed, looking

# Beyond this nothing is bound: only its user can say that whatever it holds may run.
_MOST_FILES = 20_000


def folder_state(folder: str, left_out: frozenset[str] = frozenset()) -> str:
    """A digest that is another one after any change below a folder. Raises `Unbound`.

    By what the kernel says of each file, which nobody can change and set back: no file is read.
    Nothing is left out but the paths that are given, and nothing of `.git`: a pack is kept byte by
    byte as another side has sent it, so that it can be code as any file can.
    """
    look = looking()
    key = ("state", folder, left_out)
    if key not in look.known:
        # What was too much once is not gone through for every entry of a workspace.
        look.known[key] = ""
        look.known[key] = _state(folder, left_out)
    if not look.known[key]:
        raise Unbound
    return look.known[key]


def _state(folder: str, left_out: frozenset[str]) -> str:
    from hashlib import sha256  # noqa: PLC0415 - few entries are bound to a whole folder

    whole = sha256()
    for told in sorted(_states(folder, left_out)):
        whole.update(told + b"\0\0")
    return whole.hexdigest()


def state_files(folder: str) -> Iterator[str]:
    """The files that count in the state of a folder. Raises `Unbound`."""
    for _, entry in _entries(folder):
        if not entry.is_dir(follow_symlinks=False):
            yield entry.path


def _states(folder: str, left_out: frozenset[str]) -> Iterator[bytes]:
    for name, entry in _entries(folder):
        if left_out and os.path.join(folder, name) in left_out:
            continue
        told = [os.fsencode(name)]
        try:
            about = entry.stat(follow_symlinks=False)
            if stat.S_ISLNK(about.st_mode):
                told.append(os.fsencode(os.readlink(entry.path)))
                told.append(_identity(about))
                about = os.stat(landed(entry.path))
            told.append(b"folder" if stat.S_ISDIR(about.st_mode) else _identity(about))
        except OSError:
            told.append(b"unreadable")
        else:
            if stat.S_ISFIFO(about.st_mode):
                # Whoever writes to a pipe decides what is read from it.
                raise Unbound
        yield b"\0".join(told)


def _identity(about: os.stat_result) -> bytes:
    # Not of the device, whose number may be another after the next start of the machine.
    parts = (about.st_mode, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)
    return "-".join(map(str, parts)).encode()


def _entries(folder: str) -> Iterator[tuple[str, "os.DirEntry[str]"]]:
    """Everything below a folder by its name; links to folders lead on, each of those once."""
    look, number = looking(), 0
    seen: set[tuple[int, int]] = set()
    waiting = [("", folder)]
    while waiting:
        name, place = waiting.pop()
        try:
            about = os.stat(place)
            if (about.st_dev, about.st_ino) in seen:
                continue
            seen.add((about.st_dev, about.st_ino))
            with os.scandir(place) as found:
                inner = [*_bounded(found, _MOST_FILES - number)]
        except OSError:
            # What can be read there one day shows then.
            continue
        number += len(inner)
        look.count(len(inner))
        for entry in inner:
            within = os.path.join(name, entry.name)
            yield within, entry
            if entry.is_dir(follow_symlinks=False):
                waiting.append((within, entry.path))
            elif entry.is_symlink() and os.path.isdir(real := landed(entry.path)):
                waiting.append((within, real))


def _bounded(found: Iterator["os.DirEntry[str]"], most: int) -> Iterator["os.DirEntry[str]"]:
    for number, entry in enumerate(found):
        if number >= most:
            # What another entry leaves out makes it another look, and none of them is free.
            looking().count(number)
            raise Unbound
        yield entry
