"""Whether servers may stand in the worktree of a board: they leave it before it goes."""

import asyncio
from collections.abc import Awaitable, Callable

from switchboard.children.schema import ServerEntry
from switchboard.children.trees import faults
from switchboard.children.trees.worktrees import top_of
from switchboard.core.loop.tasks import TaskSet
from switchkit.platform.files import folder_identity
from switchkit.tenancy import Leaving, Tenancy, is_leaving

# How often it is looked whether the folder is there, and may be stood in.
_LOOK_S = 0.25
GONE = "its worktree was removed or moved"
LEAVES = "its worktree is being removed"


class Standing:
    """One process of a server in the worktree, from before its start to after its end."""

    def __init__(
        self, entry: ServerEntry, tenancy: Tenancy | None, over: "Callable[[Standing], None]"
    ) -> None:
        self.entry = entry
        self._tenancy = tenancy
        self._over = over

    def keep(self) -> None:
        """It is still there."""
        if self._tenancy is not None:
            self._tenancy.keep()

    def close(self) -> None:
        """Nothing of it is there any more."""
        if self._tenancy is not None:
            self._tenancy.close()
            self._tenancy = None
        self._over(self)


class TreeGuard:
    """Lets following servers into one folder, and has them ended when it goes."""

    def __init__(self, folder: str, end: Callable[[ServerEntry, str], Awaitable[None]]) -> None:
        """`end` ends what runs of an entry, and is told why."""
        self._folder = folder
        self._end = end
        self._inside: set[Standing] = set()
        self._tasks = TaskSet()
        self._is_watched = False

    async def enter(self, entry: ServerEntry) -> Standing:
        """Before a server is started there. Raises a fault where it must not be."""
        tenancy = await asyncio.to_thread(self._entered, entry)
        standing = Standing(entry, tenancy, self._inside.discard)
        self._inside.add(standing)
        if not self._is_watched:
            self._is_watched = True
            self._tasks.start(self._watch())
        return standing

    def _entered(self, entry: ServerEntry) -> Tenancy | None:
        if not entry.folder_id or _identity(self._folder) != entry.folder_id:
            raise faults.folder_gone(entry.name)
        top = top_of(self._folder)
        if not top:
            # In no repository: nobody removes it as a worktree.
            return None
        try:
            return Tenancy(top)
        except Leaving:
            raise faults.tree_leaving(entry.name) from None
        except OSError:
            # Whoever removes it still sees the process that stands in it.
            return None

    async def _watch(self) -> None:
        try:
            while self._inside:
                await asyncio.sleep(_LOOK_S)
                there, leaves = await asyncio.to_thread(self._look)
                for standing in tuple(self._inside):
                    standing.keep()
                    if standing.entry.folder_id != there:
                        await self._end(standing.entry, GONE)
                    elif leaves:
                        await self._end(standing.entry, LEAVES)
        finally:
            self._is_watched = False

    def _look(self) -> tuple[str, bool]:
        """Which folder lies there, and whether somebody removes it."""
        top = top_of(self._folder)
        return _identity(self._folder), bool(top) and is_leaving(top)

    async def aclose(self) -> None:
        """Nothing of it is there any more."""
        await self._tasks.aclose()


def _identity(folder: str) -> str:
    """Which folder lies there; nothing if none does."""
    try:
        return folder_identity(folder)
    except OSError:
        return ""
