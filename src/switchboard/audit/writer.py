"""The thread that writes the audit log, so that the loop never waits for a disk.

What callers hand in while a group is being written makes up the next one: many callers share one
sync. Records that nobody waits for lie a moment, so that a fast call does not pay for them.
"""

import asyncio
import contextlib
import sqlite3
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from switchboard.audit.bootstrap import ensure_key
from switchboard.audit.chain import Entry
from switchboard.audit.database import SegmentDamaged
from switchboard.audit.errors import explained, unwritable
from switchboard.audit.flood_watch import RECORDS_A_MINUTE, FloodWatch
from switchboard.audit.kept.kept_records import KeptRecords
from switchboard.audit.key import AuditKey, KeyUnusable
from switchboard.audit.log import AuditLog, entry_of
from switchboard.audit.paths import AuditPaths
from switchboard.core.audit import AuditRecord
from switchboard.core.events import AuditFailed, AuditFlooded, AuditRecovered
from switchboard.core.faults import Fault
from switchboard.core.loop.timers import Timers
from switchboard.core.stores import Recorded
from switchboard.core.text.stamps import stamp
from switchkit.files import NotPrivate

# How long a record that nobody waits for may lie.
_LINGER_S = 0.15
_MOST_IN_A_GROUP = 512
# What is kept for later while the log cannot be written.
_MOST_WAITING = 10_000
_RETRY_S = 1.0
# Longer than SQLite's own patience. A process that was stopped while it held the lock must not
# keep the calls of others for ever.
_PATIENCE_S = 10.0
_GOODBYE_S = 3.0

_FAILURES = (OSError, sqlite3.Error, NotPrivate, KeyUnusable, SegmentDamaged)
Told = AuditFailed | AuditRecovered | AuditFlooded


class _Waiting(Struct, eq=False):
    """A record on its way to disk, and who waits for it."""

    # What it is made of, until it is made; nothing for those who only wait for others.
    record: Recorded | Entry | None
    waiter: asyncio.Future[None] | None = None


class GroupLog(Protocol):
    """Where groups are written. Used by one thread."""

    def write(self, entries: Sequence[Entry], /) -> None:
        """Write a group; it is on disk when this returns. Raises an error that `errors` knows."""
        ...

    def idle(self) -> None:
        """Called from time to time while nothing is to be written, and may write of itself."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


class GroupWriter(ABC):
    """The writing half of a store. Its thread starts with the first record."""

    def __init__(
        self,
        *,
        tell: Callable[[Told], None] = lambda _: None,
        records_a_minute: int = RECORDS_A_MINUTE,
        patience_s: float = _PATIENCE_S,
        idle_s: float | None = None,
    ) -> None:
        """`idle_s` is how often the log is told that there is nothing to write, if at all."""
        self._tell_them = tell
        self._patience_s = patience_s
        self._idle_s = idle_s
        self._timers: Timers[asyncio.Future[None]] | None = None
        self._log = self._opened()
        self._floods = FloodWatch(most=records_a_minute)
        self._key: AuditKey | None = None
        # Taken by itself on the road of every call: the condition's own doors cost two frames each.
        self._lock = threading.Lock()
        self._news = threading.Condition(self._lock)
        self._waiting: list[_Waiting] = []
        self._is_urgent = False
        self._is_closing = False
        self._lost = 0
        self._failing = False
        self._loop: asyncio.AbstractEventLoop | None = None
        # A daemon: a disk that never answers must not keep the program alive.
        self._thread = threading.Thread(target=self._run, name="audit", daemon=True)

    @abstractmethod
    def _opened(self) -> GroupLog:
        """The log, before anything is written to it."""

    @abstractmethod
    def _found_key(self) -> AuditKey:
        """The key, on the thread. Raises an error that `errors` knows."""

    # What callers see

    async def append(self, record: Recorded, /) -> None:
        await self._put(record)

    def post(self, record: Recorded, /) -> None:
        # While the log cannot be written it is made at once: what it is made of may be large.
        if self._failing and not isinstance(record, AuditRecord):
            record = _made(record)
        with self._lock:
            if len(self._waiting) >= _MOST_WAITING or self._is_closing:
                self._lost += 1
                return
            self._waiting.append(_Waiting(record))
            # The thread has been told once anything waits; a full group need not lie any longer.
            if len(self._waiting) in {1, _MOST_IN_A_GROUP}:
                self._wake()

    @property
    def waiting(self) -> int:
        """How many records are not written yet."""
        return len(self._waiting)

    async def flush(self) -> None:
        await self._put(None)

    def fingerprint(self, payload: bytes, /) -> str:
        # Only the thread may wait for a file.
        if self._key is None and threading.get_ident() == self._thread.ident:
            with contextlib.suppress(*_FAILURES):
                self._key = self._found_key()
        return self._key.fingerprint(payload) if self._key is not None else ""

    def close(self) -> None:
        """Write what waits, and end. Bounded, whatever the disk does."""
        with self._news:
            self._is_closing = True
            self._news.notify()
        if self._thread.ident is not None:
            self._thread.join(_GOODBYE_S)

    async def _put(self, record: Recorded | None) -> None:
        loop = asyncio.get_running_loop()
        timers = self._timers
        if timers is None or timers.loop is not loop:
            timers = self._timers = Timers(loop, _give_up)
        waiting = timers[self._patience_s]
        waiter: asyncio.Future[None] = loop.create_future()
        waiting[waiter] = loop.time() + self._patience_s
        try:
            with self._lock:
                if self._is_closing:
                    raise unwritable("it is closed")
                self._waiting.append(_Waiting(record, waiter))
                if not self._is_urgent:
                    self._is_urgent = True
                    self._wake()
            await waiter
        finally:
            waiting.pop(waiter, None)

    def _wake(self) -> None:
        if self._thread.ident is None:
            try:
                self._loop = asyncio.get_running_loop()
            except RuntimeError:
                self._loop = None
            self._thread.start()
        self._news.notify()

    # The thread

    def _run(self) -> None:
        while True:
            group = self._next()
            if group is None:
                with contextlib.suppress(Exception):
                    self._log.idle()
                continue
            if not group:
                break
            # Whoever was cancelled or gave up does not run, so there is nothing to write down.
            group = [one for one in group if one.waiter is None or not one.waiter.done()]
            try:
                entries: list[Entry] = []
                for one in group:
                    self._add_entries(one, entries)
                self._write(entries)
            except Exception as error:  # noqa: BLE001 - nobody may be left waiting
                self._failed(group, error)
            else:
                _answer(group, None)
        self._log.close()

    def _next(self) -> list[_Waiting] | None:
        """What is to be written; nothing at the end, `None` when there has long been nothing."""
        with self._news:
            while not self._waiting and not self._is_closing:
                if not self._news.wait(self._idle_s):
                    return None
            if not self._is_urgent and not self._is_closing:
                self._news.wait_for(self._is_pressing, _RETRY_S if self._failing else _LINGER_S)
            group = self._waiting[:_MOST_IN_A_GROUP]
            del self._waiting[:_MOST_IN_A_GROUP]
            self._is_urgent = any(one.waiter is not None for one in self._waiting)
            return group

    def _is_pressing(self) -> bool:
        is_full = len(self._waiting) >= _MOST_IN_A_GROUP and not self._failing
        return self._is_urgent or self._is_closing or is_full

    def _write(self, entries: list[Entry]) -> None:
        with self._news:
            lost = self._lost
        if lost:
            entries = [entry_of(_lost_record(lost)), *entries]
        if entries:
            self._log.write(entries)
        if self._failing:
            self._failing = False
            self._tell(AuditRecovered(message="the audit log can be written again", lost=lost))
        if lost:
            with self._news:
                self._lost -= lost

    def _add_entries(self, one: _Waiting, entries: list[Entry]) -> None:
        """Add the record as it is written, made once however often that is tried."""
        record = one.record
        if record is None:
            return
        if not isinstance(record, Entry):
            made = record if isinstance(record, AuditRecord) else _made(record)
            if self._floods.is_news(made.session_id):
                entries.append(entry_of(self._flooded(made)))
            one.record = record = entry_of(made)
        entries.append(record)

    def _flooded(self, record: AuditRecord) -> AuditRecord:
        note = "this session writes unusually many records"
        message = f"{note}: {record.client or 'its client'} calls {record.tool or 'tools'} and more"
        self._tell(AuditFlooded(session_id=record.session_id, message=message))
        return AuditRecord(
            ts=record.ts,
            event="audit.flooded",
            session_id=record.session_id,
            client=record.client,
            workspace=record.workspace,
            note=note,
        )

    def _failed(self, group: list[_Waiting], error: Exception) -> None:
        cause = explained(error)
        if not self._failing:
            self._failing = True
            self._tell(AuditFailed(message=f"the audit log cannot be written: {cause} ({error})"))
        _answer(group, lambda: unwritable(cause, private=repr(error)))
        with self._news:
            kept = [one for one in group if one.waiter is None]
            if self._is_closing:
                # There is no later.
                self._lost += len(kept)
            else:
                self._waiting[:0] = kept

    def _found(self, says: str) -> None:
        self._tell(AuditRecovered(message=f"somebody changed the audit log: {says}"))

    def _tell(self, event: Told) -> None:
        loop = self._loop
        try:
            if loop is None:
                self._tell_them(event)
            else:
                loop.call_soon_threadsafe(self._tell_them, event)
        except RuntimeError:
            # The loop has ended, and with it everybody who would listen.
            return


class AuditWriter(GroupWriter):
    """Writes to the files of a home."""

    def __init__(
        self,
        paths: AuditPaths,
        *,
        tell: Callable[[Told], None] = lambda _: None,
        segment_bytes: int | None = None,
        segments_kept: int | None = None,
        kept: KeptRecords | None = None,
        records_a_minute: int = RECORDS_A_MINUTE,
        patience_s: float = _PATIENCE_S,
    ) -> None:
        self._paths = paths
        self._kept = kept
        limits = {"segment_bytes": segment_bytes, "segments_kept": segments_kept}
        self._limits = {name: value for name, value in limits.items() if value is not None}
        super().__init__(tell=tell, records_a_minute=records_a_minute, patience_s=patience_s)

    def _opened(self) -> GroupLog:
        return AuditLog(self._paths, on_found=self._found, kept=self._kept, **self._limits)

    def _found_key(self) -> AuditKey:
        return ensure_key(self._paths)


def _made(make: Callable[[], AuditRecord]) -> AuditRecord:
    try:
        return make()
    except Exception as error:  # noqa: BLE001 - one record must not keep all others from disk
        return _lost_record(1, f" ({type(error).__name__} while it was made)")


def _give_up(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_exception(unwritable("another process holds it"))


def _answer(group: list[_Waiting], fault: Callable[[], Fault] | None) -> None:
    """Wake those who wait, each loop once."""
    waiters: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
    for one in group:
        if one.waiter is not None:
            waiters.setdefault(one.waiter.get_loop(), []).append(one.waiter)
    for loop, theirs in waiters.items():
        try:
            loop.call_soon_threadsafe(_wake_all, theirs, fault)
        except RuntimeError:
            continue


def _wake_all(waiters: list[asyncio.Future[None]], fault: Callable[[], Fault] | None) -> None:
    for waiter in waiters:
        if waiter.done():
            continue
        if fault is None:
            waiter.set_result(None)
        else:
            # One each: a raised exception carries the trace of who raised it.
            waiter.set_exception(fault())


def _lost_record(count: int, why: str = " for want of room") -> AuditRecord:
    note = f"{count} record(s) were not kept{why}"
    return AuditRecord(ts=stamp(), event="audit.lost", note=note)
