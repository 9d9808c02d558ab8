"""Every child by what it is: one instance for all callers, kept across a reload that spares it."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from switchboard.children.child import Child, Limits
from switchboard.children.environment import SecretSource, child_environment
from switchboard.children.links import Link, open_stdio
from switchboard.children.schema import ServerEntry
from switchboard.core.origins import Origin
from switchboard.core.ports import Events
from switchboard.core.tasks import TaskSet
from switchboard.procs.spawn import Warden
from switchboard.wire.messages import encode
from switchboard.wire.peer import OnLost, OnNotification, OnRequest


class ChildPool:
    """Owns the children."""

    def __init__(
        self, *, environ: Mapping[str, str], secrets: SecretSource, events: Events, warden: Warden
    ) -> None:
        self._environ = environ
        self._secrets = secrets
        self._events = events
        self._warden = warden
        self._children: dict[bytes, Child] = {}
        self._tasks = TaskSet()

    def child(self, entry: ServerEntry, limits: Limits) -> Child:
        """The child of this entry. Starts nothing."""
        key = _key(entry, limits)
        child = self._children.get(key)
        if child is None:
            child = Child(entry, limits=limits, open_link=self._open, events=self._events)
            self._children[key] = child
        return child

    def retain(self, children: Iterable[Child]) -> None:
        """Let go of every other child as soon as nobody waits for it."""
        kept = set(map(id, children))
        for key, child in tuple(self._children.items()):
            if id(child) not in kept:
                del self._children[key]
                self._tasks.start(child.drain())

    async def _open(
        self,
        entry: ServerEntry,
        *,
        timeout_s: float,
        on_request: OnRequest,
        on_notification: OnNotification,
        on_lost: OnLost,
    ) -> Link:
        if entry.transport == "stdio":
            return await open_stdio(
                entry,
                child_environment(entry, self._environ, self._secrets),
                warden=self._warden,
                timeout_s=timeout_s,
                on_request=on_request,
                on_notification=on_notification,
                on_lost=on_lost,
            )
        # The HTTP client is large, and most boards have no remote child.
        from switchboard.children.remote import open_remote  # noqa: PLC0415

        return await open_remote(
            entry,
            timeout_s=timeout_s,
            on_request=on_request,
            on_notification=on_notification,
            on_lost=on_lost,
        )

    def __iter__(self) -> Iterator[Child]:
        return iter(tuple(self._children.values()))

    async def aclose(self) -> None:
        """End them all, side by side."""
        children = tuple(self._children.values())
        self._children.clear()
        await asyncio.gather(*(child.aclose() for child in children))
        await self._tasks.aclose()


def _key(entry: ServerEntry, limits: Limits) -> bytes:
    """What makes two entries the same child; where they were written does not."""
    return encode((msgspec.structs.replace(entry, origin=Origin()), limits))
