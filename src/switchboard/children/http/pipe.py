"""What both transports over HTTP share: each message of ours travels, and fails, on its own."""

import asyncio

import msgspec

from switchboard.children.http.client import RemoteClient
from switchboard.children.http.outgoing import Outgoing, read_outgoing
from switchboard.children.http.sleep_watch import SleepWatch
from switchboard.children.reaching.interruption import Interruption
from switchboard.core.faults import Fault
from switchboard.core.loop.tasks import TaskSet
from switchboard.wire.messages import Parts, RpcError
from switchboard.wire.peer import Peer
from switchboard.wire.pending import PeerLost

REFUSED_FROM = 400
INITIALIZED = "notifications/initialized"
# How long requests wait behind the word that the handshake is over.
_OPENING_S = 2.0
_BREAKS_TO_BLANKS = bytes.maketrans(b"\r\n", b"  ")


class HttpPipe:
    """Where the messages for one server go out."""

    def __init__(self, client: RemoteClient, ended: str) -> None:
        self._client = client
        self._peer: Peer | None = None
        self._tasks = TaskSet()
        self._opening: asyncio.Task[None] | None = None
        self._closing = False
        self._sleep = SleepWatch()
        # Why the server cannot be reached just now, and when it last answered.
        self.trouble = ""
        self.answered_at = 0.0
        # How it ended, should it end.
        self.ended = ended

    def attach(self, peer: Peer) -> None:
        """Say who gets the messages."""
        self._peer = peer

    def send(self, parts: Parts) -> None:
        if not self._closing:
            if self._sleep.has_slept():
                self._woke_up()
            body = b"".join(parts)
            self._send(read_outgoing(body), body)

    def _woke_up(self) -> None:
        """The machine slept, and whatever was open may lead nowhere."""
        self._client.forget_connections()

    def _send(self, message: Outgoing, body: bytes) -> None:
        raise NotImplementedError

    def _start_post(self, message: Outgoing, body: bytes) -> "asyncio.Task[None]":
        task = self._tasks.start(self._post(message, body))
        if message.method == INITIALIZED:
            self._opening = task
        return task

    async def _post(self, message: Outgoing, body: bytes) -> None:
        if message.is_request and self._opening is not None:
            # Some servers refuse every request that overtakes the end of the handshake.
            await asyncio.wait({self._opening}, timeout=_OPENING_S)
        try:
            await self._carry(message, body)
        except (Fault, RpcError, PeerLost) as error:
            if isinstance(error, Interruption):
                self.trouble = error.message
            self._fail(message, error)
        except Exception as error:  # noqa: BLE001 - see `unexpected`
            self._fail(message, self._client.unexpected(error))

    async def _carry(self, message: Outgoing, body: bytes) -> None:
        """Bring one message to the server. Raises what its request ends with."""
        raise NotImplementedError

    def _fail(self, message: Outgoing, error: Exception) -> None:
        if message.is_request and self._peer is not None and message.id is not msgspec.UNSET:
            self._peer.pending.fail(message.id, error)

    def _receive(self, data: bytes) -> None:
        """Take a message in, without line breaks: it may be passed on as a line or an event."""
        if b"\n" in data or b"\r" in data:
            data = data.translate(_BREAKS_TO_BLANKS)
        if self._peer is not None:
            self._peer.receive(data)

    def pause(self) -> None:
        """A child is never held back."""

    def resume(self) -> None:
        """See `pause`."""

    def close(self) -> None:
        self._closing = True

    def _heard(self) -> None:
        """The server answered something."""
        self.trouble = ""
        self.answered_at = asyncio.get_running_loop().time()

    async def finish(self) -> None:
        """Wait for what may still be answered, once nothing can be asked any more."""

    async def aclose(self) -> None:
        """End what is under way and close every connection."""
        self._closing = True
        try:
            await self._tasks.aclose()
            await self._goodbye()
        finally:
            await self._client.aclose()

    async def _goodbye(self) -> None:
        """The last word, where there is one."""
