"""How often each tool is called, how that ends and how long it takes, counted from the audit log.

The log has all of it already, so nothing is written while calls run. What was counted is kept by
the day in a small file of the home, so that the log is read once; it can be counted anew as far
back as the log goes. The log is that of the home, or of a team.
"""

import contextlib
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct

from switchboard.audit.paths import AuditPaths
from switchboard.audit.reader import AuditReader
from switchboard.core.audit import AuditRow
from switchkit.files import make_folder, replace_file
from switchkit.locks import FolderLock

_FINISHED = "tool.call.finished"
# What a person did to a call says nothing about the tool.
_NO_ERRORS = frozenset({"ok", "cancelled"})
_MOST_DAYS = 90
# Names of tools are input: of one day, so many.
_MOST_TOOLS = 2_000
# Of a log that was never counted, so many of the latest records.
_MOST_RECORDS = 200_000
_MOST_BYTES = 16 * 1024 * 1024
# A time is kept as a power of this, which is near enough for a median.
_STEP = 1.1


class UsedTool(Struct, frozen=True, array_like=True):
    """Which tool was called. Of a tool that is in no suite, or of no server, these are empty."""

    server: str
    suite: str
    tool: str


class Use(Struct, array_like=True):
    """What became of the calls of one tool."""

    calls: int = 0
    errors: int = 0
    # Of the results, as a model reads them; estimated.
    tokens: int = 0
    # How many calls took about so long: powers of a small step, in milliseconds.
    times: dict[int, int] = {}

    def add(self, other: "Use") -> None:
        """Count others along."""
        self.calls += other.calls
        self.errors += other.errors
        self.tokens += other.tokens
        for power, count in other.times.items():
            self.times[power] = self.times.get(power, 0) + count

    def took_ms(self, share: float) -> int:
        """How long at most this share of the calls took."""
        left = share * sum(self.times.values())
        for power, count in sorted(self.times.items()):
            left -= count
            if left <= 0:
                return round(_STEP**power)
        return 0


class _Day(Struct):
    tools: list[tuple[UsedTool, Use]] = []


class _Book(Struct):
    # The number of the last record that was counted.
    through: int = 0
    days: dict[str, _Day] = {}


class _Finished(Struct, frozen=True):
    """What of a record is counted."""

    event: str = ""
    tool: str = ""
    via: str = ""
    server: str = ""
    started: str = ""
    ended: str = ""
    status: str = ""
    tokens_result: int | None = None


_read_book = msgspec.json.Decoder(_Book).decode
_read_record = msgspec.json.Decoder(_Finished).decode


class CountedLog(Protocol):
    """A log whose records have numbers that rise."""

    def last(self) -> int | None:
        """The number of the last record; nothing where there is none."""
        ...

    def rows(self, after: int, /) -> Iterator[AuditRow]:
        """The records after a number, the oldest first, with every call that has ended."""
        ...


class _HomeLog:
    """The log of a home."""

    def __init__(self, home: str, tell: Callable[[str], None]) -> None:
        self._reader = AuditReader(AuditPaths(Path(home)), tell=tell)

    def last(self) -> int | None:
        with contextlib.closing(self._reader.backwards()) as rows:
            last = next(rows, None)
        return last.seq if last is not None else None

    def rows(self, after: int, /) -> Iterator[AuditRow]:
        with contextlib.closing(self._reader.rows(after)) as rows:
            yield from rows


class UsageCount:
    """What is counted in one home: of its own log, or of one that has a name."""

    def __init__(self, home: str, log: CountedLog | None = None, *, name: str = "") -> None:
        file = f"usage-{name}.json" if name else "usage.json"
        self._path = os.path.join(home, "cache", file)
        # What of the log could not be read, in words.
        self.unreadable: list[str] = []
        self._log = log or _HomeLog(home, self.unreadable.append)

    def last_days(self, days: int, *, now: float | None = None) -> dict[UsedTool, Use]:
        """The use of every tool that was called since so many days ago. Counts what is new."""
        found: dict[UsedTool, Use] = {}
        for counted in self.by_day(days, now=now).values():
            for tool, use in counted.items():
                found.setdefault(tool, Use(times={})).add(use)
        return found

    def by_day(self, days: int, *, now: float | None = None) -> dict[str, dict[UsedTool, Use]]:
        """The same for each day on which something was called, the oldest first."""
        since = _day((time.time() if now is None else now) - (days - 1) * 86_400)
        return {
            day: dict(counted.tools)
            for day, counted in sorted(self._counted().days.items())
            if day >= since
        }

    def _counted(self) -> _Book:
        folder = os.path.dirname(self._path)
        try:
            make_folder(folder)
            lock = FolderLock(folder)
        except OSError:
            # A home that cannot be written is counted each time.
            return self._brought_up(_Book())[0]
        with lock:
            book, has_news = self._brought_up(self._load())
            if has_news:
                # It appears whole or not at all, and what is lost is counted again.
                with contextlib.suppress(OSError):
                    replace_file(self._path, msgspec.json.encode(book), durable=False)
        return book

    def _load(self) -> _Book:
        try:
            with open(self._path, "rb") as file:
                return _read_book(file.read(_MOST_BYTES + 1))
        except (OSError, msgspec.MsgspecError):
            return _Book()

    def _brought_up(self, book: _Book) -> tuple[_Book, bool]:
        """The book with what was written since, and whether that is anything."""
        last = self._log.last()
        if last is None or last == book.through:
            return book, False
        if last < book.through:
            # Another log than the one that was counted.
            book = _Book()
        rows = self._log.rows(max(book.through, last - _MOST_RECORDS))
        # What has come since is counted the next time.
        days = _by_day(book, (row for row in rows if row.seq <= last))
        kept = sorted(days)[-_MOST_DAYS:]
        return _Book(
            through=last,
            days={day: _Day([*days[day].items()]) for day in kept},
        ), True


def _by_day(book: _Book, rows: Iterable[AuditRow]) -> dict[str, dict[UsedTool, Use]]:
    days = {day: dict(counted.tools) for day, counted in book.days.items()}
    for record in _records(rows):
        tools = days.setdefault(record.ended.partition("T")[0], {})
        used = UsedTool(record.server, record.via, record.tool)
        if used in tools or len(tools) < _MOST_TOOLS:
            tools.setdefault(used, Use(times={})).add(_use(record))
    return days


def _records(rows: Iterable[AuditRow]) -> Iterator[_Finished]:
    """The calls among the records; an introspection is none."""
    for row in rows:
        try:
            record = _read_record(row.body)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
        if record.event == _FINISHED and record.tool != record.via and record.ended:
            yield record


def _use(record: _Finished) -> Use:
    return Use(
        calls=1,
        errors=int(record.status not in _NO_ERRORS),
        tokens=record.tokens_result or 0,
        times=_times(record),
    )


def _times(record: _Finished) -> dict[int, int]:
    try:
        began, ended = map(datetime.fromisoformat, (record.started, record.ended))
    except ValueError:
        return {}
    took_ms = max(1.0, (ended - began).total_seconds() * 1000)
    return {round(math.log(took_ms, _STEP)): 1}


def _day(seconds: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(seconds))
