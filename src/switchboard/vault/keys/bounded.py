"""Waits for something that may never answer, and then goes on without it."""

import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class TookTooLong(Exception):
    """It has not answered yet, and may still do so."""


class Bounded:
    """Runs one thing at a time. While one hangs, the next is refused at once."""

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self._hanging: threading.Thread | None = None

    def __call__(self, do: Callable[[], T]) -> T:
        """What it answers, or raises. Raises `TookTooLong`."""
        if self._hanging is not None and self._hanging.is_alive():
            raise TookTooLong
        found: list[T] = []
        failed: list[BaseException] = []

        def work() -> None:
            try:
                found.append(do())
            except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
                failed.append(error)

        # A process can end while it hangs.
        thread: Any = threading.Thread(target=work, name="switchboard-keychain", daemon=True)
        thread.start()
        thread.join(self._patience_s)
        if thread.is_alive():
            self._hanging = thread
            raise TookTooLong
        if failed:
            raise failed[0]
        return found[0]
