"""When secrets were last used. Beside the vault, because a use must not rewrite the vault."""

import os
import threading
import time

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

    def note(self, reference: str) -> None:
        """It was used just now."""
        now = time.time()
        with self._lock:
            if now - self._noted.get(reference, 0.0) < _COARSE_S:
                return
            self._noted[reference] = now
            try:
                # Of two processes at once one may win: the other's note comes a minute later.
                times = {**self.times(), reference: now}
                replace_file(self._path, msgspec.json.encode(times), durable=False)
            except OSError:
                return

    def times(self) -> dict[str, float]:
        """What is known."""
        try:
            handle = open_private(self._path, os.O_RDONLY)
            with os.fdopen(handle, "rb") as file:
                return msgspec.json.decode(file.read(), type=dict[str, float])
        except (OSError, msgspec.DecodeError, ValueError):
            return {}
