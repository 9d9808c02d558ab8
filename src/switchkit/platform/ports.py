"""Who listens on a port."""

import _socket  # without `socket.py`, whose import costs more than the question
import sys
from collections.abc import Iterable
from errno import EADDRINUSE, EADDRNOTAVAIL, EAFNOSUPPORT
from typing import Any, NamedTuple

from switchkit.platform import Unknown
from switchkit.platform.facts import command_line
from switchkit.platform.processes import pids

if sys.platform == "darwin":
    from switchkit.platform.darwin.ports import (
        REUSE_REFUSES_LISTENERS,
        addresses,
        connected_user,
        hear_no_more,
        hint_names,
        hint_who_holds,
        holds,
        listening,
    )
else:
    from switchkit.platform.linux.ports import (
        REUSE_REFUSES_LISTENERS,
        addresses,
        connected_user,
        hear_no_more,
        hint_names,
        hint_who_holds,
        holds,
        listening,
    )

__all__ = [
    "PortHolder",
    "addresses",
    "bind_alone",
    "connected_user",
    "hear_no_more",
    "hint_names",
    "hint_who_holds",
    "holder",
    "holds",
    "is_free",
    "listening",
]

_WILDCARDS = ((_socket.AF_INET, "0.0.0.0"), (_socket.AF_INET6, "::"))  # noqa: S104 - bound for a moment and never listened on
# A system without one of the families has nobody on it.
_WITHOUT_FAMILY = (EAFNOSUPPORT, EADDRNOTAVAIL)


class PortHolder(NamedTuple):
    """A process with a listening socket on a port."""

    pid: int
    command: str


def holder(inodes: set[int], among: Iterable[int] | None = None) -> PortHolder | None:
    """A process that has one of these sockets; looked for in `among`, or everywhere."""
    for pid in pids() if among is None else among:
        if holds(pid, inodes):
            return PortHolder(pid, command_line(pid))
    return None


def open_ports(pids: Iterable[int]) -> list[int]:
    """The ports that one of these processes listens on."""
    everyone = [*pids]
    try:
        table = listening()
    except Unknown:
        return []
    return sorted(
        port for port, sockets in table.items() if any(holds(pid, sockets) for pid in everyone)
    )


def bind_alone(sock: _socket.socket, address: tuple[Any, ...]) -> None:
    """Give a socket that is to listen its address, if nobody listens there, or everywhere.

    Connections of before, which the kernel still remembers, are no hindrance. Raises `OSError`.
    """
    if not REUSE_REFUSES_LISTENERS:
        try:
            # Who asks without the option is refused beside anybody.
            sock.bind(address)
        except OSError as taken:
            if taken.errno != EADDRINUSE or _is_listened_on(address[1]):
                raise
        else:
            return
    # Of other users' listeners it is not given one on any system.
    sock.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
    sock.bind(address)


def _is_listened_on(port: int) -> bool:
    try:
        return bool(listening().get(port))
    except Unknown:
        return True


def is_free(port: int, *, strict: bool) -> bool:
    """Whether nobody holds the port, on either family and any address.

    `strict` also refuses a port whose last connections the kernel still remembers.
    """
    for family, address in _WILDCARDS:
        try:
            probe = _socket.socket(family, _socket.SOCK_STREAM)
        except OSError as wrong:
            if wrong.errno in _WITHOUT_FAMILY:
                continue
            return False
        try:
            if family == _socket.AF_INET6:
                probe.setsockopt(_socket.IPPROTO_IPV6, _socket.IPV6_V6ONLY, 1)
            if strict:
                probe.bind((address, port))
            else:
                bind_alone(probe, (address, port))
        except OSError as wrong:
            if wrong.errno not in _WITHOUT_FAMILY:
                return False
        finally:
            probe.close()
    return True
