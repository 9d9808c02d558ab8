"""When the lines of a log were written: a side file of (time, size of the log) pairs.

A service writes straight to its log, so the times are when the supervisor saw it grow.
"""

import contextlib
import os
import time
from bisect import bisect_left
from pathlib import Path

from switchkit.files import replace_file

MOST_BYTES = 1 << 18


def marks_path(path: Path) -> Path:
    """The side file of a log."""
    return path.with_name(f"{path.name}.marks")


def rotated(path: Path) -> list[Path]:
    """The log and those that were moved aside before it, the newest first."""
    older: list[Path] = []
    while (one := path.with_name(f"{path.name}.{len(older) + 1}")).exists():
        older.append(one)
    return [path, *older]


def add_mark(path: Path) -> None:
    """Note how long the log is now."""
    with contextlib.suppress(OSError):
        size = path.stat().st_size
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        marks = os.open(marks_path(path), flags, 0o600)
        try:
            os.write(marks, f"{time.time():.3f} {size}\n".encode())
            is_long = os.fstat(marks).st_size > MOST_BYTES
        finally:
            os.close(marks)
        if is_long:
            _thin(marks_path(path))


def _thin(marks: Path) -> None:
    """Keep every second of the older marks; the newer half stays exact."""
    lines = marks.read_bytes().splitlines(keepends=True)
    half = len(lines) // 2
    made = marks.with_name(f"{marks.name}.new")
    made.write_bytes(b"".join([*lines[:half:2], *lines[half:]]))
    made.chmod(0o600)
    made.replace(marks)


def rotate_marks(path: Path, keep: int) -> None:
    """Move the marks of a log that was just moved aside, so that they stay with their log."""
    with contextlib.suppress(OSError):
        if keep < 1:
            marks_path(path).unlink(missing_ok=True)
            return
        for number in range(keep, 1, -1):
            with contextlib.suppress(FileNotFoundError):
                older = path.with_name(f"{path.name}.{number - 1}")
                marks_path(older).replace(marks_path(path.with_name(f"{path.name}.{number}")))
        marks_path(path).replace(marks_path(path.with_name(f"{path.name}.1")))


def shift_marks(path: Path, by: int) -> None:
    """Have the marks of a log tell of it without its first bytes, which are gone."""
    with contextlib.suppress(OSError, ValueError):
        marks = marks_path(path)
        told = (line.split() for line in marks.read_bytes().splitlines())
        left = [b"%b %d\n" % (when, int(size) - by) for when, size in told if int(size) > by]
        replace_file(marks, b"".join(left), durable=False)


class LogTimes:
    """The times of one log, as they are known now."""

    def __init__(self, path: Path) -> None:
        self._ends: list[int] = []
        self._times: list[float] = []
        self._last = 0.0
        with contextlib.suppress(OSError):
            # Whatever was written after the last mark was written by now.
            self._last = path.stat().st_mtime
            raw = marks_path(path).read_bytes()
            for line in raw.splitlines():
                when, _, size = line.partition(b" ")
                with contextlib.suppress(ValueError):
                    self._add(float(when), int(size))

    def _add(self, when: float, size: int) -> None:
        if not self._ends or size > self._ends[-1]:
            self._ends.append(size)
            self._times.append(when)
        elif size < self._ends[-1]:
            # Shorter than before: it was emptied, and what was known of it means nothing now.
            self._ends, self._times = [size], [when]

    def at(self, end: int) -> float:
        """When the log reached this length."""
        place = bisect_left(self._ends, end)
        return self._times[place] if place < len(self._times) else self._last

    def offset_before(self, when: float) -> int:
        """A place before which no line is as new as this."""
        found = 0
        for end, time_of in zip(self._ends, self._times, strict=True):
            if time_of >= when:
                break
            found = end
        return found
