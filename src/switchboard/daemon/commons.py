"""What every board of one daemon shares: the warden, and the children of scope `user`."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence

from switchboard.children.child import Child
from switchboard.children.environment import EnvironmentSecrets
from switchboard.children.pool import ChildPool
from switchboard.core.ports import Events
from switchboard.daemon.enclosing import Enclosures
from switchboard.procs.spawn import Warden
from switchboard.sandbox.sandbox import platform_sandbox


class Commons:
    """Owned by the daemon; a board in a process of its own does without."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self.warden = Warden()
        # Sessions share a child only where everything is alike that the child could see.
        self._pools: dict[frozenset[tuple[str, str]], ChildPool] = {}

    def pool_for(self, environ: Mapping[str, str]) -> ChildPool:
        """The pool of everyone with this environment."""
        key = frozenset(environ.items())
        pool = self._pools.get(key)
        if pool is None:
            pool = self._pools[key] = ChildPool(
                environ=environ,
                secrets=EnvironmentSecrets(environ),
                events=self._events,
                warden=self.warden,
                enclose=Enclosures(platform_sandbox(), environ, environ.get("HOME") or "/"),
            )
        return pool

    def retain(self, children: Sequence[Child]) -> None:
        """Let go of every child that no board leads to any more."""
        for pool in self._pools.values():
            pool.retain(children)

    def children(self) -> Iterator[Child]:
        """Every child of scope `user`."""
        for pool in self._pools.values():
            yield from pool

    async def aclose(self) -> None:
        """End every child, and the warden."""
        await asyncio.gather(*(pool.aclose() for pool in self._pools.values()))
        # The warden waits until what it guards has ended, and the loop must not wait with it.
        await asyncio.get_running_loop().run_in_executor(None, self.warden.close)
