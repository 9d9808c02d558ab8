"""A disk that folds names, as most of macOS do: `Work` is `work`, and either Unicode form of `ü`.

Below one folder, for this process alone. What exists is found by any of its spellings and keeps
the one that it was made with; `F_GETPATH` tells that one.
"""

# ruff: noqa: PTH100, PTH118, PTH206 - it is put in place of what pathlib stands on

import fcntl
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unicodedata import normalize

_GET_PATH, _FOR_EVENTS = 50, 0x8000
_lstat, _listdir, _readlink = os.lstat, os.listdir, os.readlink
_ONE = ("open", "stat", "lstat", "readlink", "listdir", "scandir", "mkdir", "rmdir", "unlink")
_MORE = ("remove", "chmod", "access", "chdir", "utime")
_TWO = ("rename", "replace", "link", "symlink")


def _folded(name: str) -> str:
    return normalize("NFD", normalize("NFD", name).casefold())


def _there(path: str) -> bool:
    try:
        _lstat(path)
    except OSError:
        return False
    return True


def _found(path: str, root: str) -> str:
    """The path by the names that the disk has, as far as it has them."""
    whole = os.path.abspath(path) if ".." not in path.split(os.sep) else path
    folded, below = _folded(whole), _folded(root)
    if folded != below and not folded.startswith(below + os.sep):
        return path
    at, *names = root, *whole[len(root) :].split(os.sep)[1:]
    while names:
        name = names.pop(0)
        if not _there(os.path.join(at, name)):
            try:
                alike = [each for each in _listdir(at) if _folded(each) == _folded(name)]
            except OSError:
                alike = []
            name = alike[0] if alike else name
        at = os.path.join(at, name)
    return at


def install(root: str, put: Callable[[Any, str, Any], None] = setattr) -> None:
    """Have everything below a folder found by any spelling."""

    def folding(real: Callable[..., Any], both: bool = False) -> Callable[..., Any]:
        def ask(path: Any = ".", *more: Any, **named: Any) -> Any:
            if isinstance(path, (str, bytes, Path)):
                path = _found(os.fsdecode(path), root)
            if both:
                more = (_found(os.fsdecode(more[0]), root), *more[1:])
            return real(path, *more, **named)

        return ask

    for name in (*_ONE, *_MORE):
        put(os, name, folding(getattr(os, name)))
    for name in _TWO:
        put(os, name, folding(getattr(os, name), both=True))
    opening = folding(io.open)
    put(io, "open", opening)
    real: Callable[..., Any] = fcntl.fcntl

    def control(handle: Any, number: int, argument: Any = 0) -> Any:
        if number != _GET_PATH:
            return real(handle, number, argument)
        return os.fsencode(_readlink(f"/proc/self/fd/{handle}")).ljust(len(argument), b"\0")

    put(fcntl, "fcntl", control)
    opens = os.open

    def open_(path: Any, flags: int, *more: Any, **named: Any) -> int:
        # Linux has another meaning for the number of O_EVTONLY.
        return opens(path, flags & ~_FOR_EVENTS, *more, **named)

    put(os, "open", open_)
