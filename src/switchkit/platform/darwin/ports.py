"""macOS: who listens on a port, asked of each process of ours. Those of others are not shown."""

import _socket
import os
from collections.abc import Iterator

from switchkit.platform import Unknown
from switchkit.platform.darwin import calls, layouts
from switchkit.platform.darwin.facts import files_of, owner_of, shown_files
from switchkit.platform.darwin.layouts import number, port
from switchkit.platform.darwin.processes import pids

# With SO_REUSEADDR an address of its own is given beside somebody's listener on all of them.
REUSE_REFUSES_LISTENERS = False
# An address of IPv4 that a socket of IPv6 has.
_MAPPED = "::ffff:"


def listening() -> dict[int, set[int]]:
    """The sockets of this user that listen, as numbers of the kernel, by port. Raises `Unknown`."""
    made: dict[int, set[int]] = {}
    for about in _everybodys():
        if number(about, layouts.TCP_STATE_AT) == layouts.LISTENS:
            found = made.setdefault(port(about, layouts.LOCAL_PORT_AT), set())
            found.add(number(about, layouts.SOCKET_AT, 8))
    return made


def hear_no_more(sock: _socket.socket) -> bool:
    """There is no way: who is about to connect is broken off when it closes."""
    del sock
    return False


def addresses(of: int) -> set[str]:
    """The addresses on which somebody of ours listens at a port. Raises `Unknown`."""
    return {
        _address(about)
        for about in _everybodys()
        if number(about, layouts.TCP_STATE_AT) == layouts.LISTENS
        and port(about, layouts.LOCAL_PORT_AT) == of
    }


def _address(about: bytes) -> str:
    at = layouts.LOCAL_ADDRESS_AT
    if about[layouts.ADDRESS_KIND_AT] & layouts.IS_V6:
        return _socket.inet_ntop(_socket.AF_INET6, about[at : at + 16])
    at += layouts.V4_IN_ADDRESS
    return _socket.inet_ntop(_socket.AF_INET, about[at : at + 4])


def connected_user(address: str, at: int, to_port: int) -> int:
    """Whose connection from one address and port of this machine to a port it is.

    -1 if it is not ours. Raises `Unknown`.
    """
    for about in _everybodys():
        if (
            number(about, layouts.TCP_STATE_AT) == layouts.IS_CONNECTED
            and port(about, layouts.LOCAL_PORT_AT) == at
            and port(about, layouts.REMOTE_PORT_AT) == to_port
            and _address(about).removeprefix(_MAPPED) == address
        ):
            return os.getuid()
    return -1


def holds(pid: int, sockets: set[int]) -> bool:
    """Whether the process has one of these sockets open."""
    return any(number(about, layouts.SOCKET_AT, 8) in sockets for about in _of(pid))


def _everybodys() -> Iterator[bytes]:
    everyone = pids()
    if not everyone:
        raise Unknown("the system does not tell who listens")
    for pid in everyone:
        try:
            files = shown_files(pid, layouts.OF_SOCKET)
        except PermissionError:
            if owner_of(pid) == os.geteuid():
                # We are in somebody's sandbox, and see a part of what this user runs.
                raise Unknown(f"the system does not tell what process {pid} listens on") from None
            continue
        except OSError:
            continue
        yield from _told(pid, files)


def _of(pid: int) -> Iterator[bytes]:
    return _told(pid, files_of(pid, layouts.OF_SOCKET))


def _told(pid: int, files: list[int]) -> Iterator[bytes]:
    """What the kernel tells of each TCP socket of a process."""
    for file in files:
        try:
            about = calls.file_info(pid, file, layouts.SOCKET_INFO, layouts.SOCKET_INFO_BYTES)
        except OSError:
            continue
        if number(about, layouts.SOCKET_KIND_AT) == layouts.KIND_TCP:
            yield about


def hint_who_holds(of: int) -> str:
    """What to type to see who holds a port."""
    return f"lsof -nP -iTCP:{of} -sTCP:LISTEN"


def hint_names() -> str:
    """What makes names below `localhost` known where they are not."""
    return "macOS knows `*.localhost` from version 26 on; before it, Safari does not either"
