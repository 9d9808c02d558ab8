"""The daemon: takes clients and commands from its socket, and ends when nobody needs it."""

import asyncio
import contextlib
import os
import time
from collections.abc import Sequence

from msgspec.structs import replace

from switchboard.config.problems import ConfigInvalid
from switchboard.core.bus import EventBus, Subscriber
from switchboard.core.tasks import TaskSet
from switchboard.daemon.attachment import Attachment
from switchboard.daemon.boards import BoardRegistry, EndlessQuestions
from switchboard.daemon.connection import Connection
from switchboard.daemon.daemon_socket import DaemonSocket
from switchboard.daemon.hello import Hello, NoHello, read_hello, read_values
from switchboard.daemon.log import Log
from switchboard.daemon.orders import follow_orders
from switchboard.daemon.recent_events import RecentEvents
from switchboard.daemon.serve import until_signal
from switchboard.daemon.shared_children import SharedChildren
from switchboard.daemon.stderr import keep_small, write_failure
from switchboard.ipc.lines import Gone
from switchboard.ipc.paths import DaemonPlaces
from switchboard.ipc.words import (
    ABI,
    BEAT_S,
    CONTROL,
    DECLINED,
    DRAIN,
    DRAINING,
    GREETING_S,
    MAX_ENVIRONMENT_BYTES,
    MAX_HELLO_BYTES,
    NEED,
    OTHER_ABI,
    READY,
)

_TIDY_S = 1.0
_LAST_CALLS_S = 2.0


class Daemon:
    """Who is here, and how long we stay."""

    def __init__(
        self, places: DaemonPlaces, *, log: Log, idle_s: float, more: Sequence[Subscriber] = ()
    ) -> None:
        self.places = places
        self._log = log
        self.idle_s = idle_s
        self.started_at = time.time()
        self.recent_events = RecentEvents()
        self._events = EventBus(log, self.recent_events.subscriber(""), *more)
        self.shared_children = SharedChildren(self._events)
        self.boards = BoardRegistry(self.recent_events, self.shared_children, *more)
        self.attachments: set[Attachment] = set()
        self.is_draining = False
        self._tasks = TaskSet()
        self._busy_at = time.monotonic()
        self._stopping = asyncio.get_running_loop().create_future()
        self._socket = DaemonSocket(places)

    async def run(self, ready: "int | None" = None) -> int:
        """Serve until nobody needs us, somebody stops us, or a signal comes."""
        signalled = until_signal()
        self._socket.start(self._arrive)
        if ready is not None:
            # Whoever started us may have gone meanwhile; others will come.
            with contextlib.suppress(OSError):
                os.write(ready, b"ready\n")
            os.close(ready)
        self._tasks.start(self._beat())
        self._tasks.start(self._tidy())
        await asyncio.wait({self._stopping, signalled}, return_when=asyncio.FIRST_COMPLETED)
        await self._aclose()
        return 0

    def stop(self) -> None:
        """End every session and then ourselves."""
        if not self._stopping.done():
            self._stopping.set_result(None)

    def drain(self) -> None:
        """Take no client any more; those who are here finish in peace, and commands are heard."""
        self.is_draining = True
        self._socket.step_aside()

    # Arrivals

    def _arrive(self, connection: Connection) -> None:
        self._busy_at = time.monotonic()
        self._tasks.start(self._receive(connection))

    async def _receive(self, connection: Connection) -> None:
        try:
            hello = read_hello(await connection.line(MAX_HELLO_BYTES, GREETING_S))
            if hello.kind == CONTROL:
                await follow_orders(self, connection)
            elif hello.abi != ABI:
                await self._make_way(connection)
            elif self.is_draining:
                connection.say(DRAINING)
            elif not _is_same_folder(hello.home, self.places.home):
                connection.say(f"{DECLINED} it serves another home, `{self.places.home}`")
            else:
                # Our word for it, so that two words for one home make no two boards.
                await self._serve(connection, replace(hello, home=self.places.home))
        except (Gone, NoHello, TimeoutError):
            # It left, or was nobody we know: there is nothing to say to it.
            pass
        finally:
            connection.close()
            self._busy_at = time.monotonic()

    async def _make_way(self, connection: Connection) -> None:
        """A client of another version wants a daemon of its own."""
        connection.say(f"{OTHER_ABI} {ABI}")
        if await connection.line(MAX_HELLO_BYTES, GREETING_S) == DRAIN.encode():
            self.drain()
            connection.say(DRAINING)

    async def _serve(self, connection: Connection, hello: Hello) -> None:
        async def ask(names: Sequence[str]) -> dict[str, str]:
            connection.say(f"{NEED} {' '.join(names)}")
            return read_values(await connection.line(MAX_ENVIRONMENT_BYTES, GREETING_S))

        try:
            board = await self.boards.board_for(hello, ask)
        except ConfigInvalid:
            # The shim reads the same files, and tells its user what is wrong with them.
            connection.say(f"{DECLINED} the configuration cannot be used as it is")
            return
        except EndlessQuestions as error:
            connection.say(f"{DECLINED} {error}")
            return
        except (Gone, NoHello, TimeoutError):
            raise
        except Exception as error:  # noqa: BLE001 - the shim does without us, and says why
            write_failure()
            connection.say(f"{DECLINED} it failed ({type(error).__name__}), see its log")
            return
        attachment = Attachment(connection, hello, board)
        self.attachments.add(attachment)
        board.enter()
        try:
            connection.say(READY)
            await attachment.stay()
        finally:
            self.attachments.discard(attachment)
            board.leave()

    # Passing time

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            for attachment in tuple(self.attachments):
                attachment.beat()

    async def _tidy(self) -> None:
        while True:
            await asyncio.sleep(_TIDY_S)
            if self.attachments:
                self._busy_at = time.monotonic()
            elif self.is_draining or 0 < self.idle_s <= time.monotonic() - self._busy_at:
                self.stop()
            try:
                keep_small(self.places.log)
                await self.boards.close_unused()
            except Exception:  # noqa: BLE001 - whatever it is, we must go on to end ourselves
                write_failure()

    async def _aclose(self) -> None:
        self._socket.close()
        for attachment in tuple(self.attachments):
            attachment.dismiss()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_CALLS_S):
                while self.attachments:  # noqa: ASYNC110 - each of them ends by itself
                    await asyncio.sleep(0.005)
        await self._tasks.aclose()
        await self.boards.aclose()
        await self.shared_children.aclose()
        self._log.close()


def _is_same_folder(one: str, other: str) -> bool:
    if one == other:
        return True
    try:
        return os.path.samefile(one, other)  # noqa: PTH121 - strings are given
    except OSError:
        return False
