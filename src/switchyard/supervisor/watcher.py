"""Looks at the files of services that are to start again when one of them changes."""

import threading
import time
from collections.abc import Callable, Iterable

from switchyard.runtime.launch import ServiceLaunch
from switchyard.runtime.watched_files import Snapshot, WatchedFiles, changed_files

LOOK_S = 0.4
# How many times longer than a look the pause after it is: many files are looked at more rarely.
_SHARE = 20

Key = tuple[str, str]
Renew = Callable[[Key, list[str]], bool]
"""Starts a service again because of these files; false when it is not to be watched any more."""


class _Watched:
    """One service: what its files were when it started, and what they were at the last look."""

    def __init__(self, launch: ServiceLaunch) -> None:
        self._files = WatchedFiles(launch.target.worktree, launch.service.watch)
        self._started_with: Snapshot = self._files.look()
        self._last = self._started_with

    def changes(self) -> list[str]:
        """The changed files, once nobody has written to any of them between two looks."""
        now, before = self._files.look(), self._last
        self._last = now
        if now != before:
            return []
        found = changed_files(self._started_with, now)
        if found:
            self._started_with = now
        return found


class Watcher:
    """One thread for all watched services of a project; none where nothing is watched."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: dict[Key, _Watched] = {}
        self._is_looking = False

    def watch(self, launches: Iterable[ServiceLaunch], renew: Renew) -> None:
        """Watch these from now on. Called before they start, so that no change is missed."""
        found = {one.key: _Watched(one) for one in launches if one.service.watch}
        if not found:
            return
        with self._lock:
            self._watched |= found
            if not self._is_looking:
                self._is_looking = True
                threading.Thread(target=self._look, args=(renew,), daemon=True).start()

    def _look(self, renew: Renew) -> None:
        pause = threading.Event()
        took_s = 0.0
        while True:
            pause.wait(max(LOOK_S, took_s * _SHARE))
            began = time.thread_time()
            with self._lock:
                watched = dict(self._watched)
            over: list[Key] = []
            for key, one in watched.items():
                # With nothing changed it is asked too: whether it still is to be watched.
                if not renew(key, one.changes()):
                    over.append(key)
            took_s = time.thread_time() - began
            with self._lock:
                for key in over:
                    if self._watched.get(key) is watched[key]:
                        del self._watched[key]
                if not self._watched:
                    self._is_looking = False
                    return
