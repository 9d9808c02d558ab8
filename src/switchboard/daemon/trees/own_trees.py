"""Other worktrees where there is no daemon: what runs in each, in this process."""

import asyncio
from collections.abc import Mapping

from switchboard.core.bus import EventBus
from switchboard.core.loop.tasks import TaskSet, close_all
from switchboard.daemon.board.reload import LoadTree, Reloader
from switchboard.daemon.board.runtime import Runtime


class OwnTrees:
    """A runtime for each worktree that somebody has moved to. Closed with the process."""

    def __init__(
        self, workspace: str, load: LoadTree, environ: Mapping[str, str], events: EventBus
    ) -> None:
        """`workspace` is where its sessions come from."""
        self._workspace = workspace
        self._load = load
        self._environ = environ
        self._events = events
        self._open: dict[str, tuple[Runtime, Reloader]] = {}
        self._opening = asyncio.Lock()
        self._tasks = TaskSet()

    async def __call__(self, root: str) -> Runtime:
        """What runs there. Raises `ConfigInvalid`."""
        async with self._opening:
            if root not in self._open:
                await self._begin(root)
            runtime, reloader = self._open[root]
            await reloader.look()
            if await asyncio.to_thread(lambda: runtime.is_replaced):
                await reloader.reload()
            return runtime

    async def _begin(self, root: str) -> None:
        settings = await asyncio.to_thread(self._load, root, {})
        runtime = Runtime(settings, environ=self._environ, events=self._events)
        # What lies in any of them is nobody's word on whom to believe.
        runtime.engine.egress.workspaces = self._folders
        reloader = Reloader(runtime, lambda last_good: self._load(root, last_good))
        self._open[root] = (runtime, reloader)
        self._tasks.start(reloader.watch())

    def _folders(self) -> tuple[str, ...]:
        return (self._workspace, *self._open)

    async def aclose(self) -> None:
        """End everything in all of them."""
        await self._tasks.aclose()
        await close_all(runtime.aclose() for runtime, _ in self._open.values())
