"""When secrets were last used. Beside the vault, because a use must not rewrite the vault."""

import os
import threading
import time
from collections.abc import Container
from contextlib import suppress

import msgspec

from switchkit.files import open_private, replace_file

FILE = "used.json"
# Nobody needs to know it to the second, and each note is a write.
_COARSE_S = 60.0


class UsageNotes:
    """The times by reference. A note that cannot be written is no reason to refuse a secret."""

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, FILE)
        self._lock = threading.Lock()
        self._noted: dict[str, float] = {}

    def note(self, reference: str, among: Container[str]) -> None:
        """It was used just now. Of others, only those `among` which the vault still has stay."""
        now = time.time()
        with self._lock:
            if now - self._noted.get(reference, 0.0) < _COARSE_S:
                return
            self._noted[reference] = now
            try:
                # Of two processes at once one may win: the other's note comes a minute later.
                self._write({**self.times(), reference: now}, among)
            except OSError:
                return

    def forget(self, reference: str) -> None:
        """It is not in the vault any more."""
        with self._lock:
            self._noted.pop(reference, None)
            times = self.times()
            if times.pop(reference, None) is not None:
                with suppress(OSError):
                    self._write(times, times)

    def times(self) -> dict[str, float]:
        """What is known."""
        try:
            handle = open_private(self._path, os.O_RDONLY)
            with os.fdopen(handle, "rb") as file:
                return msgspec.json.decode(file.read(), type=dict[str, float])
        except (OSError, msgspec.DecodeError, ValueError):
            return {}

    def _write(self, times: dict[str, float], among: Container[str]) -> None:
        kept = {name: at for name, at in times.items() if name in among}
        replace_file(self._path, msgspec.json.encode(kept), durable=False)
