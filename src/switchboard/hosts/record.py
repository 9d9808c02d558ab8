"""What we have written into the files of hosts, so that all of it can be taken back.

The record is a journal as well: a change is on disk here, with the bytes before it, before its file
is touched. Whatever was under way when we were killed is settled by what the file holds.
"""

import hashlib
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Literal, Self

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from switchboard.hosts.change import FileChange, Granted, Placed
from switchboard.hosts.edits.unfit import UnfitFile
from switchboard.hosts.host_lock import lock_of
from switchboard.hosts.plain_file import read_plain
from switchkit.files import make_private_folder, read_own_file, replace_file, sync_folder
from switchkit.locks import FileLock

_FILE = "record.json"
_LOCK = "record.lock"
_ORIGINALS = "originals"
_MOST = 64 << 20
_MODE = 0o600
# How the name of a file goes on that is about to take the place of another.
_DRAFT = re.compile(r"[0-9]{1,10}\.[0-9a-f]{8}")


class Written(Struct, frozen=True, kw_only=True):
    """A file as it was before us and as we left it."""

    place: Placed
    # The digest of the bytes that are kept for it; empty when the file was not there.
    before: str
    after: str
    taken_out: tuple[str, ...] = ()
    put_in: dict[str, str] = {}
    granted: tuple[Granted, ...] = ()
    # Folders that had to be made for it, the innermost first.
    folders: tuple[str, ...] = ()
    at: float = 0.0
    # `intended` until the file is known to hold it.
    state: Literal["intended", "done"] = "intended"


class _Record(Struct, frozen=True, kw_only=True):
    version: int = 1
    written: tuple[Written, ...] = ()


class RecordDamaged(Exception):
    """The record cannot be read; nothing is written before somebody has looked at it."""


class HostRecord:
    """The record of one home. Take it with `with`: one process changes files of hosts at a time."""

    def __init__(self, home: str) -> None:
        self._folder = os.path.join(home, "hosts")
        make_private_folder(home)
        make_private_folder(self._folder)
        make_private_folder(os.path.join(self._folder, _ORIGINALS))
        self._lock = FileLock(os.path.join(self._folder, _LOCK))
        self._written: tuple[Written, ...] = ()

    def __enter__(self) -> Self:
        self._lock.__enter__()
        try:
            self._written = self._read()
            self._settle()
        except BaseException:
            self._lock.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.__exit__()

    @property
    def written(self) -> tuple[Written, ...]:
        """Every file that holds something of ours, the oldest change first."""
        return self._written

    def intend(self, changes: Iterable[FileChange], now: float) -> tuple[Written, ...]:
        """Keep the bytes of these files, and note what is about to be written. Raises `OSError`."""
        noted = tuple(self._noted(change, now) for change in changes)
        # The bytes are there before anything says so.
        sync_folder(os.path.join(self._folder, _ORIGINALS))
        self._save((*self._written, *noted))
        return noted

    def done(self, written: Written) -> None:
        """A file holds what was intended. Raises `OSError`."""
        self._save(
            tuple(
                replace(each, state="done") if each == written else each for each in self._written
            )
        )

    def forget(self, written: Written) -> None:
        """A file holds nothing of ours any more. Raises `OSError`."""
        self._save(tuple(each for each in self._written if each != written))

    def original(self, written: Written) -> bytes | None:
        """The bytes before us; `None` when there was no file. Raises `RecordDamaged`."""
        if not written.before:
            return None
        raw = self._kept(written.before)
        if raw is None:
            raise RecordDamaged("the copy that was kept of it is damaged")
        return raw

    def left(self, written: Written) -> bytes | None:
        """The bytes as we left them; `None` where they were not kept."""
        return self._kept(written.after)

    def _kept(self, name: str) -> bytes | None:
        try:
            raw = read_own_file(self._folder, self._original_path(name), _MOST)
        except OSError:
            return None
        return raw if digest(raw) == name else None

    def _noted(self, change: FileChange, now: float) -> Written:
        before = ""
        if change.before is not None:
            before = self._keep(change.before)
            # What a file was changed from and into tells its lines from those written since.
            self._keep(change.after)
        return Written(
            place=change.place,
            before=before,
            after=digest(change.after),
            taken_out=change.taken_out,
            put_in=change.put_in,
            granted=change.granted,
            folders=_missing_folders(change.place.target),
            at=now,
        )

    def _keep(self, raw: bytes) -> str:
        name = digest(raw)
        path = self._original_path(name)
        if not os.path.lexists(path):
            replace_file(path, raw, mode=_MODE)
        return name

    def _settle(self) -> None:
        """Decide what became of changes that nobody saw the end of."""
        settled: list[Written] = []
        for each in self._written:
            _remove_drafts(each.place.target)
            if (lock := lock_of(each.place)) is not None:
                lock.remove_stale()
            if each.state == "done":
                settled.append(each)
            elif digest_of_file(each.place.target) != each.before:
                # Ours, or ours with what the host has written since: then it is taken back by its
                # structure, which does no harm where nothing of ours is in it.
                settled.append(replace(each, state="done"))
            else:
                remove_folders(each.folders)
        _remove_drafts(os.path.join(self._folder, _FILE))
        if tuple(settled) != self._written:
            self._save(tuple(settled))
        else:
            self._tidy()

    def _read(self) -> tuple[Written, ...]:
        path = os.path.join(self._folder, _FILE)
        try:
            raw = read_own_file(self._folder, path, _MOST)
        except FileNotFoundError:
            return ()
        try:
            return msgspec.json.decode(raw, type=_Record).written
        except msgspec.MsgspecError:
            raise RecordDamaged(f"{path} is not a record of Switchboard") from None

    def _save(self, written: tuple[Written, ...]) -> None:
        path = os.path.join(self._folder, _FILE)
        if written:
            replace_file(path, msgspec.json.encode(_Record(written=written)), mode=_MODE)
        else:
            _remove(path)
        sync_folder(self._folder)
        self._written = written
        self._tidy()

    def _tidy(self) -> None:
        """Let go of bytes that nobody can want back, and of drafts of them."""
        needed = {name for each in self._written for name in (each.before, each.after)}
        folder = os.path.join(self._folder, _ORIGINALS)
        for name in os.listdir(folder):
            if name not in needed:
                _remove(os.path.join(folder, name))

    def _original_path(self, name: str) -> str:
        return os.path.join(self._folder, _ORIGINALS, name)


def digest(raw: bytes) -> str:
    """What tells these bytes from any others."""
    return hashlib.sha256(raw).hexdigest()


def digest_of_file(path: str) -> str:
    """The digest of a file; nothing where there is none that can be read."""
    try:
        raw = read_plain(path)
    except (OSError, UnfitFile):
        return ""
    return "" if raw is None else digest(raw)


def remove_folders(folders: Iterable[str]) -> None:
    """Remove folders that were made for a file, as far as nothing else is in them."""
    for folder in folders:
        with suppress(OSError):
            os.rmdir(folder)


def _missing_folders(path: str) -> tuple[str, ...]:
    missing: list[str] = []
    folder = os.path.dirname(path)
    while folder and not os.path.lexists(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    return tuple(missing)


def _remove_drafts(path: str) -> None:
    """Remove what a killed process of ours left of a write: we hold the lock, so nobody writes."""
    folder, name = os.path.split(path)
    begins = f".{name}."
    with suppress(OSError):
        for each in os.listdir(folder):
            if each.startswith(begins) and _DRAFT.fullmatch(each.removeprefix(begins)):
                _remove(os.path.join(folder, each))


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)
