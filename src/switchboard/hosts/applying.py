"""Changes of files of hosts, made and taken back. A file is replaced as a whole, or not at all."""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from typing import Literal

from msgspec import Struct

from switchboard.hosts.change import FileChange, Placed
from switchboard.hosts.edits.unfit import UnfitFile
from switchboard.hosts.host_lock import HostLock, lock_of
from switchboard.hosts.plain_file import read_plain
from switchboard.hosts.record import (
    HostRecord,
    RecordDamaged,
    Written,
    digest,
    remove_folders,
)
from switchboard.hosts.taken_out import is_bare, without_ours
from switchkit.files import make_folder, replace_file, sync_folder
from switchkit.platform.paths import true_path

# Our own files in the record, which are written before those of any host.
OURS = "switchboard"
_NEW_FILE = 0o600
_CHANGED = "it has changed since it was read; run this again to see the new difference"


class Applied(Struct, frozen=True, kw_only=True):
    """What became of one file. A reason says why it is as it was."""

    host: str
    path: str
    reason: str = ""


class Reverted(Struct, frozen=True, kw_only=True):
    """What became of one file that was ours in part."""

    host: str
    path: str
    # `whole` is byte for byte as before us; `parts` is our part alone, for somebody else has
    # written into the file since; `kept` is as it was, for the reason that is given.
    how: Literal["whole", "parts", "kept"]
    reason: str = ""


class _Refused(Exception):
    """Why a file is not written."""


def apply(changes: Sequence[FileChange], record: HostRecord, now: float) -> Iterator[Applied]:
    """Write these files, one after the other. A file that is not as it was read stays as it is."""
    needed = [change for change in changes if change.is_needed]
    try:
        noted = record.intend(needed, now)
    except OSError as refused:
        reason = f"what it holds could not be kept for later: {_words(refused)}"
        for change in needed:
            yield Applied(host=change.place.host, path=change.place.path, reason=reason)
        return
    for change, written in zip(needed, noted, strict=True):
        place = change.place
        reason = _reason(partial(_enter, change))
        # Where the record cannot be written, it is settled by the file when it is read again.
        with suppress(OSError):
            if reason:
                remove_folders(written.folders)
                record.forget(written)
            else:
                record.done(written)
        yield Applied(host=place.host, path=place.path, reason=reason)


def write_unrecorded(change: FileChange) -> str:
    """Write one file that nobody will want back; why not, if it is as it was."""
    return _reason(partial(_enter, change))


def revert(record: HostRecord, hosts: Sequence[str] = ()) -> Iterator[Reverted]:
    """Take back what is ours in the files of these hosts, or of all."""
    # A change is only taken back when those after it are.
    stuck: dict[str, str] = {}
    for written in reversed(record.written):
        place = written.place
        if hosts and place.host not in hosts:
            continue
        how: Literal["whole", "parts"] = "whole"
        reason = stuck.get(place.target, "")
        if not reason and place.host == OURS and stuck:
            # Nobody else has these servers as long as a host does not have its own back.
            reason = "a host whose servers are in it could not be put back"
        if not reason:
            how, reason = _taken_back(record, written)
        if reason:
            stuck[place.target] = reason
        else:
            # If it cannot be forgotten now, it is seen next time that nothing is left to do.
            with suppress(OSError):
                record.forget(written)
        yield Reverted(
            host=place.host, path=place.path, how="kept" if reason else how, reason=reason
        )


def _taken_back(record: HostRecord, written: Written) -> tuple[Literal["whole", "parts"], str]:
    how: Literal["whole", "parts"] = "whole"

    def take() -> None:
        nonlocal how
        place = written.place
        original = record.original(written)
        left = record.left(written)
        if not _take_back(written, place.target, original, left):
            how = "parts"
        there = true_path(place.path)
        # A host that replaces a link by a file has our part in both. A link that leads elsewhere by
        # now leads to a file that we have not written.
        is_replaced = there != place.target and not os.path.islink(place.path)
        if is_replaced and not _take_back(written, there, original, left):
            how = "parts"

    reason = _reason(take)
    return how, reason


def _take_back(written: Written, path: str, original: bytes | None, left: bytes | None) -> bool:
    """Take back what is in one file. Says whether it is as it was before us."""
    place = written.place
    now = read_plain(path)
    if now == original:
        remove_folders(written.folders)
        return True
    if now is None:
        # Whoever took the file away took our part with it.
        return False
    is_whole = digest(now) == written.after
    if is_whole and original is not None:
        _write(place, path, now, original)
        return True
    after = without_ours(written, now, original, left)
    if after != now:
        _write(place, path, now, after)
    if original is None and (is_whole or is_bare(after)):
        # Only now: a host that looks at the file has seen that our entry is gone.
        _remove(place, path, after)
        remove_folders(written.folders)
        return True
    return False


def _reason(act: Callable[[], object]) -> str:
    """Why something was not done; nothing when it was."""
    try:
        act()
    except (_Refused, RecordDamaged) as refused:
        return str(refused)
    except UnfitFile as wrong:
        where = f"line {wrong.line}: " if wrong.line else ""
        return f"{where}{wrong.message}; mend the file, then run this again"
    except OSError as refused:
        return _words(refused)
    return ""


def _words(refused: OSError) -> str:
    text = refused.strerror or str(refused)
    return text[:1].lower() + text[1:]


def _enter(change: FileChange) -> None:
    place = change.place
    if true_path(place.path) != place.target:
        raise _Refused("it leads elsewhere than when it was read; run this again")
    _write(place, place.target, change.before, change.after)


def _write(place: Placed, path: str, before: bytes | None, after: bytes) -> None:
    """Replace a file that still holds what it held. Raises `_Refused`, `UnfitFile` or `OSError`."""
    mode = _NEW_FILE
    if before is None:
        try:
            make_folder(os.path.dirname(path))
        except FileExistsError:
            raise _Refused("something else is where its folder should be") from None
    else:
        mode = _mode_for_us(path)

    def look() -> None:
        if read_plain(path) != before:
            raise _Refused(_CHANGED)

    with _held(place):
        look()
        # Once more in the last moment: a host may write while ours comes to disk.
        replace_file(path, after, mode=mode, last_look=look)
        sync_folder(os.path.dirname(path))


def _remove(place: Placed, path: str, holds: bytes) -> None:
    with _held(place):
        if read_plain(path) != holds:
            raise _Refused(_CHANGED)
        os.unlink(path)
        sync_folder(os.path.dirname(path))


def _held(place: Placed) -> "HostLock | nullcontext[None]":
    return lock_of(place) or nullcontext()


def _mode_for_us(path: str) -> int:
    """The mode of a file that we may replace."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        raise _Refused(_CHANGED) from None
    if found.st_uid != os.geteuid():
        # One in its place would be ours, and its owner could not write it any more.
        raise _Refused("it belongs to another user")
    if not found.st_mode & stat.S_IWUSR or not os.access(path, os.W_OK):
        # One in its place would be writable, which is not what its owner wants.
        raise _Refused("it is read-only")
    return stat.S_IMODE(found.st_mode)
