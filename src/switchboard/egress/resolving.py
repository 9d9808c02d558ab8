"""What names stand for. A name that nobody answers for holds up its own child and nobody else."""

import asyncio
import ipaddress
import socket
import threading
from typing import Protocol

from switchboard.core.loop.tasks import TaskSet

# Of one child: a look-up can hang for long, and cannot be called off.
_AT_ONCE = 4
# A failure holds for as long: whoever tries again at once learns nothing new.
_REMEMBERED_S = 5.0
_MOST_REMEMBERED = 256
_LOOPBACK = ("127.0.0.1", "::1")


class HostResolver(Protocol):
    """Looks names up."""

    async def addresses(self, host: str, port: int) -> list[str]:
        """Every address of a name, each once; of an address, itself. Raises OSError."""
        ...


class SystemResolver:
    """The one of the machine, for one server or command tool.

    Few look-ups at a time, one for each name, on threads of its own: those of the loop are
    everybody's, and a silent name server would keep them all.
    """

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(_AT_ONCE)
        self._under_way: dict[str, asyncio.Task[list[str]]] = {}
        self._failed: dict[str, tuple[float, OSError]] = {}
        self._tasks = TaskSet()

    async def addresses(self, host: str, port: int) -> list[str]:
        del port
        if host == "localhost":
            return list(_LOOPBACK)
        if _is_address(host):
            return [host]
        if (failure := self._remembered(host)) is not None:
            raise type(failure)(*failure.args)
        looking = self._under_way.get(host)
        if looking is None:
            looking = self._under_way[host] = self._tasks.start(self._look_up(host))
            looking.add_done_callback(lambda ended: self._ended(host, ended))
        # Whoever gives up does not take it from others who wait for the same name.
        return await asyncio.shield(looking)

    async def _look_up(self, host: str) -> list[str]:
        async with self._free:
            try:
                return await _on_own_thread(host)
            except OSError as error:
                self._remember(host, error)
                raise

    def _ended(self, host: str, looking: asyncio.Task[list[str]]) -> None:
        self._under_way.pop(host, None)
        # Everybody may have given up by now, and then nobody else asks how it failed.
        if not looking.cancelled():
            looking.exception()

    def _remember(self, host: str, error: OSError) -> None:
        self._failed.pop(host, None)
        self._failed[host] = (asyncio.get_running_loop().time() + _REMEMBERED_S, error)
        if len(self._failed) > _MOST_REMEMBERED:
            del self._failed[next(iter(self._failed))]

    def _remembered(self, host: str) -> OSError | None:
        until, error = self._failed.get(host, (0.0, None))
        return error if until > asyncio.get_running_loop().time() else None


async def _on_own_thread(host: str) -> list[str]:
    loop = asyncio.get_running_loop()
    found: asyncio.Future[list[str]] = loop.create_future()

    def tell(addresses: list[str], error: OSError | None) -> None:
        if found.done():
            return
        if error is None:
            found.set_result(addresses)
        else:
            found.set_exception(error)

    def look_up() -> None:
        addresses: list[str] = []
        failure: OSError | None = None
        try:
            rows = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
            addresses = list(dict.fromkeys(str(row[4][0]) for row in rows))
        except (OSError, UnicodeError) as error:
            failure = error if isinstance(error, OSError) else OSError("this is no name")
        try:
            loop.call_soon_threadsafe(tell, addresses, failure)
        except RuntimeError:
            # The loop has ended meanwhile, and nobody waits.
            return

    # A daemon thread: the end of the process does not wait for a silent name server.
    threading.Thread(target=look_up, name="switchboard-names", daemon=True).start()
    return await found


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
