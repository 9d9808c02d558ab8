"""The door of a process that is on the network of the machine, where its sandbox opens one port.

Everybody on the machine can connect to it, so whoever comes has to know a password, which only the
process is told.
"""

import secrets
import socket
from errno import EADDRINUSE, EADDRNOTAVAIL, EAFNOSUPPORT

from switchboard.core.faults import Fault, FaultCode
from switchboard.egress.doors.door import Serve

_TRIES = 32
_WAITING = 128
# A machine without IPv6 has nobody on it.
_WITHOUT_FAMILY = (EAFNOSUPPORT, EADDRNOTAVAIL)


class SharedNetworkDoor:
    """Listens on a port of the machine's own loopback. Raises a fault where none is to be had.

    A sandbox opens the port on both families, so that of IPv6 is held too, and never listened on:
    nobody else can be reached there.
    """

    handover = None

    def __init__(self) -> None:
        self.password = secrets.token_urlsafe(24)
        self._listener, self._held = _pair()
        self.port: int = self._listener.getsockname()[1]
        self._is_given = False

    def open(self, serve: Serve) -> None:
        """Serve it from now on."""
        self._listener.listen(_WAITING)
        self._is_given = True
        serve(self._listener)

    async def aclose(self) -> None:
        """Give the port back; who serves the socket closes it."""
        if not self._is_given:
            self._listener.close()
        if self._held is not None:
            self._held.close()


def _pair() -> tuple[socket.socket, socket.socket | None]:
    for _ in range(_TRIES):
        # Without the option by which an address can be had beside somebody else's.
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            listener.bind(("127.0.0.1", 0))
            return listener, _beside(listener.getsockname()[1])
        except OSError as wrong:
            listener.close()
            if wrong.errno != EADDRINUSE:
                break
    raise Fault(
        FaultCode.UNAVAILABLE,
        "egress-port",
        "no port of this machine could be had for the proxy that leads to the chosen hosts",
        hint="close programs that hold many connections, and try again",
    )


def _beside(port: int) -> socket.socket | None:
    """The same port on the other family. Raises `OSError` where it cannot be had."""
    held: socket.socket | None = None
    try:
        held = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
        held.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        held.bind(("::1", port))
    except OSError as wrong:
        if held is not None:
            held.close()
        # No other failure, such as a lack of files, says that nobody can be there.
        if wrong.errno in _WITHOUT_FAMILY:
            return None
        raise
    return held
