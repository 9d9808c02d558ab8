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
from switchboard.daemon.commons import Commons
from switchboard.daemon.complaints import complain_of_failure
from switchboard.daemon.connection import Connection
from switchboard.daemon.guest import Guest
from switchboard.daemon.hello import Hello, NoHello, read_hello, read_values
from switchboard.daemon.hosting import EndlessQuestions, Hosting
from switchboard.daemon.ledger import Ledger
from switchboard.daemon.listening import Listening
from switchboard.daemon.log import Log
from switchboard.daemon.log_file import keep_small
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
        """Take no client any more; those who are here finish in peace, and commands are heard."""
        self.is_draining = True
        self._listening.step_aside()

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
            hosted = await self.hosting.board_for(hello, ask)
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
            complain_of_failure()
            connection.say(f"{DECLINED} it failed ({type(error).__name__}), see its log")
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
            try:
                keep_small(self.places.log)
                await self.hosting.close_unused()
            except Exception:  # noqa: BLE001 - whatever it is, we must go on to end ourselves
                complain_of_failure()

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


def _is_same_folder(one: str, other: str) -> bool:
    if one == other:
        return True
    try:
        return os.path.samefile(one, other)  # noqa: PTH121 - strings are given
    except OSError:
        return False
