"""Hot reload: look for changes, build the new settings, swap them in; a bad edit keeps the old."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from switchboard.config.problems import ConfigInvalid
from switchboard.core.bus import EventBus
from switchboard.core.events import ConfigRejected
from switchboard.core.loop.tasks import TaskSet
from switchboard.daemon.board.runtime import Runtime, running
from switchboard.daemon.logs.log import log_for
from switchboard.settings.sections import Settings
from switchboard.settings.usable import StandIns, last_readings

if TYPE_CHECKING:
    from switchboard.daemon.team.membership import Team

POLL_S = 0.5

# Given what the files held when they could last be used; the second for another folder.
Load = Callable[[StandIns], Settings]
LoadTree = Callable[[str, StandIns], Settings]
Signature = tuple[tuple[int, int, int] | None, ...]


def signature(paths: tuple[str, ...]) -> Signature:
    """What tells a changed file from an unchanged one, without reading it."""
    return tuple(_stat(path) for path in paths)


def _stat(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


class Reloader:
    """Follows the files that the settings of a runtime came from."""

    def __init__(self, runtime: Runtime, load: Load) -> None:
        self._runtime = runtime
        self._load = load
        self._seen = signature(runtime.settings.watched)
        # Why the files as they are now cannot be used; the board is an older one.
        self.invalid: ConfigInvalid | None = None
        self._looking = asyncio.Lock()

    async def watch(self) -> None:
        """Look twice a second until cancelled."""
        while True:
            await asyncio.sleep(POLL_S)
            await self.look()

    async def look(self) -> None:
        """Reload if something has changed. It has been adopted, or refused, when this returns."""
        async with self._looking:
            now = signature(self._runtime.settings.watched)
            if now != self._seen:
                self._seen = now
                await self._reload()

    async def reload(self) -> None:
        """Try the files as they are now, changed or not."""
        async with self._looking:
            await self._reload()

    async def _reload(self) -> None:
        """Try the files as they are now; whatever is wrong with them, go on with the old ones."""
        # Taken before reading: an edit that comes meanwhile is then seen as one.
        before = dict(zip(self._runtime.settings.watched, self._seen, strict=True))
        try:
            # Files are read and hashed, and a sandbox may be tried: others must not wait for it.
            last_good = last_readings([self._runtime.settings])
            settings = await asyncio.to_thread(self._load, last_good)
            if settings != self._runtime.settings:
                assembly = await asyncio.to_thread(self._runtime.assemble, settings)
                self._runtime.adopt(settings, assembly)
        except ConfigInvalid as invalid:
            self._reject(invalid)
            return
        except Exception as error:  # noqa: BLE001 - raised on, it would end the watch in silence
            problem = f"the configuration could not be used: {type(error).__name__}: {error}"
            self._runtime.events.emit(ConfigRejected(problems=(problem,)))
            return
        self.invalid = None
        if settings.broken:
            self._tell_broken(settings)
        self._seen = tuple(
            before[path] if path in before else _stat(path)
            for path in self._runtime.settings.watched
        )

    def _tell_broken(self, settings: Settings) -> None:
        """The rest is in use; what these files say now is not."""
        problems = [problem for file in settings.broken for problem in file.problems]
        self._reject(ConfigInvalid(problems, workspace=settings.workspace))

    def _reject(self, invalid: ConfigInvalid) -> None:
        problems = tuple(str(problem) for problem in invalid.problems)
        self._runtime.events.emit(ConfigRejected(problems=problems))
        self.invalid = invalid


@asynccontextmanager
async def serving(
    settings: Settings,
    environ: Mapping[str, str],
    load: Load | None,
    load_tree: LoadTree | None = None,
    team: "Team | None" = None,
) -> AsyncGenerator[Runtime]:
    """A runtime with its log; `load` reads the settings again, `load_tree` those of worktrees.

    With a `team`, its state is the team's.
    """
    with log_for(settings) as log:
        events = EventBus(log)
        async with (
            running(
                settings, environ=environ, events=events, load_tree=load_tree, team=team
            ) as runtime,
            TaskSet() as tasks,
        ):
            if load is not None:
                tasks.start(Reloader(runtime, load).watch())
            yield runtime
