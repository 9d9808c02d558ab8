"""Processes of Codex that are started before anybody needs them: one waits for the next run.

Nothing is started before the first run used Codex, and none waits for long.
"""

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable

from msgspec import Struct

from switchboard.core.loop.tasks import TaskSet, close_all
from switchboard.engines.codex.app_server import AppServer

_MOST_AGE_S = 300.0
# One for each program, provider and environment, of which few are in use at a time.
_MOST = 2

# About as long as a start takes that nothing has been prepared for.
_WORTH_WAITING_S = 1.0

Start = Callable[[str], Awaitable[AppServer]]


def home_in(folder: str) -> str:
    """Where the home of Codex is in a folder that belongs to one conversation or one spare."""
    return os.path.join(folder, "codex")


class Spare(Struct, frozen=True, kw_only=True):
    """A process that waits, and the home that is its own."""

    server: AppServer
    # All that is its own; its home is in it.
    folder: str

    @property
    def home(self) -> str:
        return home_in(self.folder)

    async def aclose(self) -> None:
        """End it, and take its folder away."""
        await self.server.aclose()
        await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)


class Spares:
    """Those that wait. Its owner closes it."""

    def __init__(self, folder: str, *, most_age_s: float = _MOST_AGE_S, most: int = _MOST) -> None:
        self._folder = folder
        self._most_age_s = most_age_s
        self._most = most
        self._waiting: dict[str, Spare] = {}
        # Those that begin, and whether somebody waits for them already.
        self._starting: dict[str, asyncio.Event] = {}
        self._awaited: set[str] = set()
        self._tasks = TaskSet()
        # Those that end now. They are waited for, never cut off.
        self._ending = TaskSet()
        self._count = 0
        self._is_closed = False

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes that wait now."""
        return tuple(spare.server.pid for spare in self._waiting.values())

    async def take(self, key: str) -> Spare | None:
        """One that may take this place, if it waits and lives.

        One that begins is waited for, by one run: to start a second beside it would take longer.
        """
        starting = self._starting.get(key)
        if starting is not None and key not in self._awaited:
            self._awaited.add(key)
            try:
                async with asyncio.timeout(_WORTH_WAITING_S):
                    await starting.wait()
            except TimeoutError:
                return None
            finally:
                self._awaited.discard(key)
        spare = self._waiting.pop(key, None)
        if spare is not None and spare.server.is_over:
            await spare.aclose()
            return None
        return spare

    def refill(self, key: str, start: Start) -> None:
        """Start another one in the background, unless one waits already.

        Where there are enough, the one that has waited longest makes way.
        """
        if self._is_closed or key in self._waiting or key in self._starting:
            return
        if len(self._waiting) + len(self._starting) >= self._most:
            if not self._waiting:
                return
            # Dictionaries keep their order: the first has waited longest.
            self._ending.start(self._waiting.pop(next(iter(self._waiting))).aclose())
        self._starting[key] = asyncio.Event()
        self._tasks.start(self._start(key, start))

    async def _start(self, key: str, start: Start) -> None:
        self._count += 1
        folder = os.path.join(self._folder, f"spare-{os.getpid()}-{self._count}")
        try:
            server = await start(home_in(folder))
        except BaseException as error:
            self._ending.start(asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True))
            if isinstance(error, Exception):
                # Nobody waits for it; the next run starts its own and tells what is wrong.
                return
            raise
        finally:
            self._starting.pop(key).set()
        spare = self._waiting[key] = Spare(server=server, folder=folder)
        await asyncio.sleep(self._most_age_s)
        if self._waiting.get(key) is spare:
            del self._waiting[key]
            self._ending.start(spare.aclose())

    async def aclose(self) -> None:
        """End those that wait and those that begin."""
        self._is_closed = True
        await self._tasks.aclose()
        for starting in self._starting.values():
            # It was ended before it began.
            starting.set()
        waiting, self._waiting = self._waiting, {}
        await close_all(spare.aclose() for spare in waiting.values())
        await self._ending.wait()
