"""Sockets on this machine's own addresses: to connect with, and to listen on."""

import socket
from errno import EADDRNOTAVAIL, EAFNOSUPPORT

from switchkit.platform.ports import bind_alone, hint_who_holds
from switchyard.core.fault import CONFLICT, YardFault


def dial(host: str, port: int, timeout_s: float) -> socket.socket:
    """Connect to a numeric address, without the resolver, which has to be loaded and locks.

    Raises `OSError` when nothing accepts in time.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.settimeout(timeout_s)
        made.connect((host, port))
    except BaseException:
        made.close()
        raise
    return made


def loopback_sockets(port: int, families: tuple[str, ...], *, shared: bool) -> list[socket.socket]:
    """Listening sockets on this machine's own addresses, or a `YardFault` naming the conflict."""
    made: list[socket.socket] = []
    for name, family, address in (
        ("v4", socket.AF_INET, "127.0.0.1"),
        ("v6", socket.AF_INET6, "::1"),
    ):
        if name not in families:
            continue
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            if shared:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            bind_alone(sock, (address, port))
            sock.listen(1024)
            sock.setblocking(False)
            made.append(sock)
        except OSError as wrong:
            sock.close()
            if family == socket.AF_INET6 and wrong.errno in (EAFNOSUPPORT, EADDRNOTAVAIL):
                continue
            for other in made:
                other.close()
            raise YardFault(
                "port-taken",
                f"port {port} on {address} is in use by another process: {wrong.strerror}",
                hint=f"see who holds it with `{hint_who_holds(port)}`",
                exit_code=CONFLICT,
            ) from None
    return made
