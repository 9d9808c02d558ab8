"""Logs: their last lines, their errors, and following them."""

import contextlib
import errno
import os
import re
import time
from collections.abc import Callable, Generator, Iterable
from functools import cache
from pathlib import Path
from typing import BinaryIO, NamedTuple

from switchkit import files
from switchyard.runtime.log.times import rotate_marks

DEFAULT_LINES = 80
LIST_S = 0.5
TAIL_BYTES = 1 << 18
LONGEST_LINE = 4000
# What is not there, is a link, or is no file at all.
_NO_LOG = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ESPIPE)
_ERROR = (
    r"\b(?:error|errors|exception|failed|failure|fatal|traceback|eaddrinuse|panic|panicked)\b"
    r"|\w+(?:Error|Exception)\b"
)
# Every line that reports an error has one of these in it, and to look for them is quick.
_HINTS = (b"error", b"exception", b"fail", b"fatal", b"traceback", b"eaddrinuse", b"panic")
_HARMLESS = r"\b(?:0|no) (?:errors?|failures?|failed)\b"
_ANSI = r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """Compiled at the first line; most logs that are looked at have none."""
    return re.compile(text, re.IGNORECASE)


class Sift(NamedTuple):
    """What to show of a log."""

    grep: str | None = None
    errors: bool = False
    match: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    redact: tuple[str, ...] = ()

    def shows(self, line: str) -> bool:
        """Whether this line is wanted."""
        if self.grep and not re.search(self.grep, line):
            return False
        return not self.errors or self.is_error(line)

    def is_error(self, line: str) -> bool:
        """Whether the line reports an error."""
        if any(re.search(one, line) for one in self.ignore):
            return False
        if any(re.search(one, line) for one in self.match):
            return True
        return bool(_pattern(_ERROR).search(_pattern(_HARMLESS).sub("", line)))

    def clean(self, line: str) -> str:
        """The line without colours and without secrets."""
        line = _pattern(_ANSI).sub("", line).rstrip("\r")[:LONGEST_LINE]
        for one in self.redact:
            line = re.sub(one, "[redacted]", line)
        return line


def _opened(path: Path) -> BinaryIO:
    """A log to read. One that is a link is none: it may lead to anything of the user's."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    return os.fdopen(os.open(path, flags), "rb")


def _read_end(path: Path, limit: int, start: int) -> tuple[int, bytes]:
    """The last bytes of a log, from the beginning of a line on, and where they begin."""
    try:
        with _opened(path) as log:
            size = log.seek(0, os.SEEK_END)
            begin = max(start if start <= size else 0, size - limit, 0)
            log.seek(begin)
            raw = log.read(limit)
    except OSError as wrong:
        if wrong.errno not in _NO_LOG:
            raise
        return 0, b""
    whole = len(raw)
    if begin > start and b"\n" in raw:
        raw = raw[raw.index(b"\n") + 1 :]
    raw = raw.lstrip(b"\0")
    return begin + whole - len(raw), raw


def _lines_backwards(raw: bytes, sift: Sift) -> Generator[tuple[int, bytes]]:
    """The lines from the last to the first, each with its end; of errors those that may be one."""
    at = len(raw) - 1 if raw.endswith(b"\n") else len(raw)
    if not sift.errors or sift.match:
        while at >= 0:
            start = raw.rfind(b"\n", 0, at) + 1
            yield at, raw[start:at]
            at = start - 1
        return
    lowered = raw.lower()
    found = {hint: lowered.rfind(hint, 0, at) for hint in _HINTS}
    while (last := max(found.values())) >= 0:
        start, end = raw.rfind(b"\n", 0, last) + 1, raw.find(b"\n", last)
        end = end if end >= 0 else len(raw)
        yield end, raw[start:end]
        found = {
            hint: lowered.rfind(hint, 0, start) if place >= start else place
            for hint, place in found.items()
        }


class LogEntry(NamedTuple):
    """One wanted line of a log, and where it ends there."""

    end: int
    line: str


def entries(
    path: Path, count: int, sift: Sift, *, start: int = 0, widest: int = 1 << 24
) -> list[LogEntry]:
    """The last `count` wanted lines, from byte `start` on; bounded however big the log is."""
    if count <= 0:
        return []
    limit = min(TAIL_BYTES, widest)
    while True:
        begin, raw = _read_end(path, limit, start)
        found: list[LogEntry] = []
        for end, one in _lines_backwards(raw, sift) if raw else ():
            line = one.decode("utf-8", "replace")
            if sift.shows(line):
                found.append(LogEntry(begin + end, sift.clean(line)))
                if len(found) == count:
                    break
        with contextlib.suppress(OSError):
            if len(found) < count and limit < path.stat().st_size - start and limit < widest:
                limit = min(limit * 8, widest)
                continue
        return found[::-1]


def tail(path: Path, count: int, sift: Sift, *, start: int = 0, widest: int = 1 << 24) -> list[str]:
    """The lines of `entries` alone."""
    return [one.line for one in entries(path, count, sift, start=start, widest=widest)]


def add_line(path: Path, text: str) -> None:
    """Write a line of our own; every writer appends, so none is cut by another."""
    with contextlib.suppress(OSError):
        log = files.open_log(path)
        try:
            os.write(log, f"{text}\n".encode())
        finally:
            os.close(log)


def rotate(path: Path, max_bytes: int, keep: int) -> None:
    """Move a full log aside before a new run, while nobody writes to it."""
    if files.rotate(path, max_bytes, keep):
        rotate_marks(path, keep)


def follow(
    list_paths: Callable[[], Iterable[Path]],
    sift: Sift,
    *,
    poll_s: float = 0.1,
    ends: Callable[[], bool] = lambda: False,
    seen: dict[Path, int] | None = None,
) -> Generator[tuple[Path, str]]:
    """New wanted lines of these logs as they arrive, until the caller stops or it `ends`.

    Logs that are made meanwhile are followed from their beginning. Whoever goes on after an
    interruption hands in what was `seen` until then.
    """
    offsets: dict[Path, int] = {} if seen is None else seen
    partial: dict[Path, bytes] = {}
    for path in () if offsets else list_paths():
        with contextlib.suppress(OSError):
            offsets[path] = path.stat().st_size
    listed = time.monotonic()
    over = False
    while True:
        quiet = True
        if over or time.monotonic() - listed > LIST_S:
            offsets.update((path, 0) for path in list_paths() if path not in offsets)
            listed = time.monotonic()
        for path in offsets:
            for line in _news(path, offsets, partial):
                quiet = False
                if sift.shows(line):
                    yield path, sift.clean(line)
        if quiet and over:
            return
        if quiet and not (over := ends()):
            time.sleep(poll_s)


def _news(path: Path, offsets: dict[Path, int], partial: dict[Path, bytes]) -> list[str]:
    try:
        with _opened(path) as log:
            size = log.seek(0, os.SEEK_END)
            if size < offsets[path]:
                offsets[path] = 0
            log.seek(offsets[path])
            raw = log.read(TAIL_BYTES)
    except OSError:
        return []
    offsets[path] += len(raw)
    *lines, rest = (partial.get(path, b"") + raw).split(b"\n")
    partial[path] = rest
    return [line.decode("utf-8", "replace") for line in lines]
