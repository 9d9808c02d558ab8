"""What a client wants to be told of: listings that change, and single resources."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from switchboard.core.calls.contents import GivenName
from switchboard.core.faults import Fault
from switchboard.core.ports import Directory
from switchboard.core.sessions import Session
from switchboard.surface.results import error_from_fault
from switchboard.surface.sink import Sink
from switchboard.wire.eras import SUBSCRIPTION_ID_KEY
from switchboard.wire.messages import INVALID_PARAMS, MessageId, Parts, Raw, RpcError, encode

if TYPE_CHECKING:
    from switchboard.surface.tasks import ClientTasks

_ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
_UPDATED = "notifications/resources/updated"
_TASK = "notifications/tasks"
_MOST_FOLLOWED = 256
_KINDS = ("tools", "prompts", "resources")


class _Filter(Struct, rename="camel", omit_defaults=True):
    tools_list_changed: bool = False
    prompts_list_changed: bool = False
    resources_list_changed: bool = False
    resource_subscriptions: list[GivenName] = []
    task_ids: list[str] = []

    def wants(self, kind: str) -> bool:
        """Whether a listing of this kind is followed."""
        return bool(getattr(self, f"{kind}_list_changed"))


class _Listen(Struct):
    notifications: _Filter


class Listening(Struct, frozen=True, eq=False):
    """The id of a request, whose it is, and who can follow resources and tasks for it."""

    message_id: MessageId
    session: Session
    directory: Directory | None
    tasks: "ClientTasks"


_read_listen = msgspec.json.Decoder(_Listen).decode


class ClientSubscriptions:
    """The subscriptions of one client, in the way of its era."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._is_open = False
        # The modern era: requests that stay open, each with what it wants and where it is told.
        self._listeners: dict[MessageId, tuple[_Filter, Sink]] = {}
        # What each of them asked, from its first step on.
        self.asked: dict[MessageId, bytes] = {}
        # Those that another process had open: since then a listing may have become another.
        self.renewed: set[MessageId] = set()
        # The handshake era: how each resource stops being followed.
        self._followed: dict[str, Callable[[], None]] = {}

    def open(self) -> None:
        """A client of the handshake era is told of every listing that changes."""
        self._is_open = True

    @property
    def followed(self) -> tuple[str, ...]:
        """The resources that a client of the handshake era follows."""
        return tuple(self._followed)

    def changed(self, kind: str) -> None:
        """Tell the client that another listing is worth asking for."""
        method = f"notifications/{kind}/list_changed"
        if self._is_open:
            self._sink.notify(method, (b"{}",))
        for listener, (wanted, sink) in tuple(self._listeners.items()):
            if wanted.wants(kind):
                sink.notify(method, (encode(_subscription(listener)),))

    # The handshake era

    async def subscribe(self, uri: str, session: Session, directory: Directory) -> Parts:
        """Follow a resource."""
        if uri not in self._followed:
            if len(self._followed) >= _MOST_FOLLOWED:
                raise RpcError(INVALID_PARAMS, f"more than {_MOST_FOLLOWED} resources are followed")
            await self._follow(uri, session, directory)
        return (b"{}",)

    async def _follow(self, uri: str, session: Session, directory: Directory) -> None:
        def tell(updated: str) -> None:
            self._sink.notify(_UPDATED, (encode({"uri": updated}),))

        def begun() -> None:
            """Hold the place: who asks twice at once, or takes it back meanwhile, finds this."""

        self._followed[uri] = begun
        try:
            end = await directory.follow(uri, session, tell)
        except BaseException as error:
            if self._followed.get(uri) is begun:
                del self._followed[uri]
            if isinstance(error, Fault):
                raise error_from_fault(error, session.id, session.era) from error
            raise
        if self._followed.get(uri) is begun:
            self._followed[uri] = end
        else:
            end()

    def unsubscribe(self, uri: str) -> None:
        """Follow a resource no longer."""
        end = self._followed.pop(uri, None)
        if end is not None:
            end()

    # The modern era

    async def listen(self, params: Raw, listening: Listening, sink: Sink) -> Parts:
        """Announce changes until the client cancels."""
        message_id, directory = listening.message_id, listening.directory
        try:
            wanted = _read_listen(params).notifications
        except msgspec.MsgspecError as error:
            raise RpcError(INVALID_PARAMS, str(error)) from None
        self.asked[message_id] = bytes(params)
        ends: dict[str, Callable[[], None]] = {}
        about = _subscription(message_id)

        def tell(updated: str) -> None:
            sink.notify(_UPDATED, (encode({"uri": updated, **about}),))

        def tell_task(members: dict[str, Any], on_delivered: Callable[[], None] | None) -> None:
            sink.notify(_TASK, (encode({**members, **about}),))
            if on_delivered is not None:
                sink.when_told(on_delivered)

        try:
            if directory is None:
                wanted = _Filter(wanted.tools_list_changed, task_ids=wanted.task_ids)
            else:
                for uri in wanted.resource_subscriptions[:_MOST_FOLLOWED]:
                    with contextlib.suppress(Fault):
                        ends[uri] = await directory.follow(uri, listening.session, tell)
                wanted.resource_subscriptions = list(ends)
            async with listening.tasks.followed(wanted.task_ids, tell_task) as agreed:
                wanted.task_ids = agreed
                sink.notify(_ACKNOWLEDGED, (encode({"notifications": wanted, **about}),))
                self._listeners[message_id] = (wanted, sink)
                self._tell_renewed(message_id, wanted, sink)
                await asyncio.get_running_loop().create_future()
        finally:
            self._listeners.pop(message_id, None)
            self.asked.pop(message_id, None)
            for end in ends.values():
                end()
        raise AssertionError("a subscription ends by being cancelled")

    def _tell_renewed(self, message_id: MessageId, wanted: _Filter, sink: Sink) -> None:
        if message_id in self.renewed:
            self.renewed.discard(message_id)
            for kind in _KINDS:
                if wanted.wants(kind):
                    sink.notify(
                        f"notifications/{kind}/list_changed", (encode(_subscription(message_id)),)
                    )

    def close(self) -> None:
        """Nothing is followed any more."""
        self._is_open = False
        for uri in tuple(self._followed):
            self.unsubscribe(uri)


def _subscription(message_id: MessageId) -> dict[str, Any]:
    return {"_meta": {SUBSCRIPTION_ID_KEY: message_id}}
