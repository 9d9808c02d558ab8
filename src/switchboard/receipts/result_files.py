"""Outcomes that nobody has got, one private file each: a line about the call, then its result.

They are not brought to the disk by force. What is written is there after a process was killed; a
machine that loses its power loses the work of its servers too.
"""

import contextlib
import os
import time
from collections.abc import Iterator

import msgspec
from msgspec import Raw

from switchboard.core.calls.receipts import KeptOutcome
from switchkit.files import NotPrivate, make_private_folder, read_own_file, replace_file
from switchkit.patterns import pattern

# What one home keeps: enough for the calls of days, and less than anybody misses.
MOST_RESULTS = 200
MOST_BYTES = 64 * 1024 * 1024
# A larger result is not kept, only what became of its call.
MOST_RESULT_BYTES = 8 * 1024 * 1024
MOST_HEAD_BYTES = 256 * 1024
_ENDING = ".json"
CALL_ID = pattern(r"[0-9A-Za-z]{1,64}-[0-9]{1,12}")
_read = msgspec.json.Decoder(KeptOutcome).decode


class ResultFiles:
    """The folder of one home."""

    def __init__(self, home: str) -> None:
        self.home = home
        self._folder = os.path.join(home, "results")
        # Seconds; 0 keeps nothing.
        self.keep_s = 0.0

    def put(self, kept: KeptOutcome, /) -> bool:
        path = self._path(kept.id)
        if path is None or self.keep_s <= 0:
            return False
        head = msgspec.json.encode(msgspec.structs.replace(kept, result=None))
        if len(head) > MOST_HEAD_BYTES:
            return False
        try:
            make_private_folder(self._folder)
            # The head has no newline, as it is not made pretty.
            replace_file(path, b"%b\n%b" % (head, kept.result or b""), durable=False)
            self.tidy()
        except OSError:
            return False
        return True

    def get(self, call_id: str, /) -> KeptOutcome | None:
        path = self._path(call_id)
        return self._found(path, MOST_RESULT_BYTES + MOST_HEAD_BYTES) if path else None

    def drop(self, call_id: str, /) -> None:
        if path := self._path(call_id):
            with contextlib.suppress(OSError):
                os.unlink(path)

    def all(self) -> list[KeptOutcome]:
        """Those that are kept, the oldest first, without what they answered."""
        found = (self._found(path, MOST_HEAD_BYTES) for _, _, path in self._files())
        return [msgspec.structs.replace(each, result=None) for each in found if each is not None]

    def _path(self, call_id: str) -> str | None:
        named = CALL_ID.fullmatch(call_id)
        return os.path.join(self._folder, f"{call_id}{_ENDING}") if named else None

    def _found(self, path: str, most: int) -> KeptOutcome | None:
        try:
            head, _, result = read_own_file(self.home, path, most).partition(b"\n")
            kept = _read(head)
        except (OSError, NotPrivate, msgspec.MsgspecError):
            return None
        if kept.until < time.time():
            # Where no daemon runs nobody else lets go of it.
            with contextlib.suppress(OSError):
                os.unlink(path)
            return None
        return msgspec.structs.replace(kept, result=Raw(result)) if result else kept

    def _files(self) -> list[tuple[float, int, str]]:
        """When they were written, how large they are and where, the oldest first."""
        return sorted(self._looked_at())

    def _looked_at(self) -> Iterator[tuple[float, int, str]]:
        try:
            with os.scandir(self._folder) as entries:
                for entry in entries:
                    if entry.name.endswith(_ENDING) and not entry.name.startswith("."):
                        found = entry.stat(follow_symlinks=False)
                        yield found.st_mtime, found.st_size, entry.path
        except OSError:
            return

    def tidy(self) -> int:
        """Let go of what is too old, and of the oldest of what is too much. Says what is left."""
        files = self._files()
        oldest = time.time() - self.keep_s
        count, size = len(files), sum(each for _, each, _ in files)
        for written_at, own, path in files:
            if written_at >= oldest and count <= MOST_RESULTS and size <= MOST_BYTES:
                break
            with contextlib.suppress(OSError):
                os.unlink(path)
            count, size = count - 1, size - own
        return count
