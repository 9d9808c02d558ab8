"""The daemon: takes clients and commands from its socket, and ends when nobody needs it."""

import asyncio
import contextlib
import os
import time
import traceback
from collections.abc import Sequence

from switchboard.config.problems import ConfigInvalid
from switchboard.core.bus import EventBus, Subscriber
from switchboard.core.tasks import TaskSet
from switchboard.daemon.commons import Commons
from switchboard.daemon.connection import Connection
from switchboard.daemon.guest import Guest
from switchboard.daemon.hello import Hello, NoHello, read_hello, read_values
from switchboard.daemon.hosting import Hosting
from switchboard.daemon.ledger import Ledger
from switchboard.daemon.listening import Listening
from switchboard.daemon.log import Log
from switchboard.daemon.orders import follow_orders
from switchboard.daemon.serve import until_signal
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


class House:
    """Who is here, and how long we stay."""

    def __init__(
        self, places: DaemonPlaces, *, log: Log, idle_s: float, more: Sequence[Subscriber] = ()
    ) -> None:
        self.places = places
        self._log = log
        self.idle_s = idle_s
        self.started_at = time.time()
        self.ledger = Ledger()
        self._events = EventBus(log, self.ledger.subscriber(""), *more)
        self.commons = Commons(self._events)
        self.hosting = Hosting(self.ledger, self.commons, *more)
        self.guests: set[Guest] = set()
        self.is_draining = False
        self._tasks = TaskSet()
        self._busy_at = time.monotonic()
        self._stopping = asyncio.get_running_loop().create_future()
        self._listening = Listening(places)

    async def run(self, ready: "int | None" = None) -> int:
        """Serve until nobody needs us, somebody stops us, or a signal comes."""
        signalled = until_signal()
        self._listening.start(self._arrive)
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
        """Take nobody any more; those who are here finish in peace."""
        self.is_draining = True
        self._listening.close()

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
            elif self.is_draining or hello.home != self.places.home:
                connection.say(DRAINING if self.is_draining else DECLINED)
            else:
                await self._serve(connection, hello)
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
            hosted = await self.hosting.board_for(hello, ask)
        except ConfigInvalid:
            # The shim reads the same files, and tells its user what is wrong with them.
            connection.say(DECLINED)
            return
        except (Gone, NoHello, TimeoutError):
            raise
        except Exception:  # noqa: BLE001 - the shim does without us, and says what it meets
            traceback.print_exc()
            connection.say(DECLINED)
            return
        guest = Guest(connection, hello, hosted)
        self.guests.add(guest)
        hosted.enter()
        try:
            connection.say(READY)
            await guest.stay()
        finally:
            self.guests.discard(guest)
            hosted.leave()

    # Passing time

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            for guest in tuple(self.guests):
                guest.beat()

    async def _tidy(self) -> None:
        while True:
            await asyncio.sleep(_TIDY_S)
            if self.guests:
                self._busy_at = time.monotonic()
            elif self.is_draining or 0 < self.idle_s <= time.monotonic() - self._busy_at:
                self.stop()
            await self.hosting.close_unused()

    async def _aclose(self) -> None:
        self._listening.close()
        for guest in tuple(self.guests):
            guest.dismiss()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_CALLS_S):
                while self.guests:  # noqa: ASYNC110 - each of them ends by itself
                    await asyncio.sleep(0.005)
        await self._tasks.aclose()
        await self.hosting.aclose()
        await self.commons.aclose()
        self._log.close()
