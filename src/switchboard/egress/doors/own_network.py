"""The door of a process that has a network of its own, which it opens from inside."""

import asyncio
import contextlib
import socket
from io import FileIO

from switchboard.egress.doors.door import Serve
from switchboard.egress.variables import PORT


class OwnNetworkDoor:
    """Listens on the loopback interface of the process's own network: nobody else is on it."""

    port = PORT
    password = ""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        self._ours = ours
        self.handover = FileIO(theirs.detach(), "r+b")
        self._taking: asyncio.Task[None] | None = None

    def open(self, serve: Serve) -> None:
        """Wait for the socket that the first program inside opens."""
        self._taking = asyncio.get_running_loop().create_task(self._take_over(serve))

    async def _take_over(self, serve: Serve) -> None:
        loop = asyncio.get_running_loop()
        readable = asyncio.Event()
        loop.add_reader(self._ours.fileno(), readable.set)
        try:
            await readable.wait()
            with contextlib.suppress(OSError):
                _, descriptors, _, _ = socket.recv_fds(self._ours, 1, 1)
                for number in descriptors:
                    _check(socket.socket(fileno=number), serve)
        finally:
            loop.remove_reader(self._ours.fileno())
            self._ours.close()

    async def aclose(self) -> None:
        """Wait no longer."""
        if self._taking is not None:
            self._taking.cancel()
            await asyncio.gather(self._taking, return_exceptions=True)
        self._ours.close()
        self.handover.close()


def _check(listener: socket.socket, serve: Serve) -> None:
    is_listening = listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    if listener.family is socket.AF_INET and is_listening:
        serve(listener)
    else:
        listener.close()
