"""Linux: who listens on a port, asked from the kernel's socket tables."""

import _socket  # without `socket.py`, whose import costs more than the question
import os
import sys
from array import array
from struct import pack

from switchkit.platform import Unknown

assert sys.platform == "linux"

# An address is never given beside somebody who listens there, with SO_REUSEADDR either.
REUSE_REFUSES_LISTENERS = True

# The second is absent in a kernel without IPv6.
_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_LISTEN, _ESTABLISHED = b"0A", b"01"
_LOCAL, _REMOTE, _CODE, _USER, _INODE = 1, 2, 3, 7, 9

# sock_diag(7): a header, and an `inet_diag_req_v2` that asks for TCP sockets in LISTEN.
_SOCK_DIAG, _BY_FAMILY, _DUMP, _ERROR, _DONE = 4, 20, 0x301, 2, 3
_REQUEST_LENGTH, _IN_LISTEN = 72, 10
_PORT_AT, _INODE_AT = 16 + 4, 16 + 68

# SO_ATTACH_FILTER takes a program, whose first byte is that of the TCP header: a packet that begins
# a connection (its flags have SYN) is dropped, and every other is taken.
_ATTACH_FILTER = 26
_INSTRUCTION, _PROGRAM = "=HBBI", "@HP"
_NO_BEGINNINGS = ((0x30, 0, 0, 13), (0x45, 0, 1, 2), (0x06, 0, 0, 0), (0x06, 0, 0, 0xFFFFFFFF))


def listening() -> dict[int, set[int]]:
    """The sockets that listen, as numbers of inodes, by port. Raises `Unknown`."""
    try:
        return asked()
    except OSError:
        return tabled()


def hear_no_more(sock: _socket.socket) -> bool:
    """Let nobody begin a connection to a listening socket, and those go on that have begun.

    To close it would break them off, also where the client has sent its request already. Whether
    that is so.
    """
    code = array("B", b"".join(pack(_INSTRUCTION, *each) for each in _NO_BEGINNINGS))
    program = pack(_PROGRAM, len(_NO_BEGINNINGS), code.buffer_info()[0])
    try:
        sock.setsockopt(_socket.SOL_SOCKET, _ATTACH_FILTER, program)
    except OSError:
        return False
    return True


def asked() -> dict[int, set[int]]:
    """By netlink: the kernel walks its few listeners, and not every connection there is."""
    made: dict[int, set[int]] = {}
    kernel = _socket.socket(_socket.AF_NETLINK, _socket.SOCK_RAW | _socket.SOCK_CLOEXEC, _SOCK_DIAG)
    try:
        kernel.settimeout(1.0)
        for family in (_socket.AF_INET, _socket.AF_INET6):
            kernel.send(_request(family))
            while _take(kernel.recv(1 << 16), made):
                pass
    finally:
        kernel.close()
    return made


def _number(raw: bytes, at: int, size: int) -> int:
    return int.from_bytes(raw[at : at + size], sys.byteorder)


def _request(family: int) -> bytes:
    """All sockets of the family that are in the one state asked for."""
    fields = ((_REQUEST_LENGTH, 4), (_BY_FAMILY, 2), (_DUMP, 2), (1, 4), (0, 4))
    wanted = ((family, 1), (_socket.IPPROTO_TCP, 1), (0, 2), (1 << _IN_LISTEN, 4))
    packed = b"".join(value.to_bytes(size, sys.byteorder) for value, size in fields + wanted)
    return packed.ljust(_REQUEST_LENGTH, b"\0")


def _take(raw: bytes, made: dict[int, set[int]]) -> bool:
    """Note what one answer says; whether more will come."""
    at = 0
    while at < len(raw):
        length, kind = _number(raw, at, 4), _number(raw, at + 4, 2)
        if kind == _DONE:
            return False
        if kind == _ERROR:
            raise OSError("the kernel does not tell")
        port = int.from_bytes(raw[at + _PORT_AT : at + _PORT_AT + 2], "big")
        made.setdefault(port, set()).add(_number(raw, at + _INODE_AT, 4))
        at += (length + 3) & ~3
    return True


def tabled() -> dict[int, set[int]]:
    """By the tables in `/proc`, where netlink is not allowed. Raises `Unknown`."""
    made: dict[int, set[int]] = {}
    for path in _TABLES:
        for line in _whole(path).splitlines()[1:]:
            fields = line.split(None, _INODE + 1)
            if len(fields) > _INODE and fields[_CODE] == _LISTEN:
                port = int(fields[_LOCAL].rpartition(b":")[2], 16)
                made.setdefault(port, set()).add(int(fields[_INODE]))
    return made


def addresses(port: int) -> set[str]:
    """The addresses on which somebody listens at a port. Raises `Unknown`."""
    made: set[str] = set()
    for path, family in zip(_TABLES, (_socket.AF_INET, _socket.AF_INET6), strict=True):
        for line in _whole(path).splitlines()[1:]:
            fields = line.split(None, _INODE + 1)
            host, _, number = fields[_LOCAL].partition(b":")
            if fields[_CODE] == _LISTEN and int(number, 16) == port:
                # Written as numbers of four bytes each, in the order of this machine.
                raw = bytes.fromhex(host.decode("ascii"))
                words = [raw[at : at + 4] for at in range(0, len(raw), 4)]
                if sys.byteorder == "little":
                    words = [word[::-1] for word in words]
                made.add(_socket.inet_ntop(family, b"".join(words)))
    return made


def connected_user(address: str, port: int, to_port: int) -> int:
    """Whose connection from one address and port of this machine to a port it is.

    -1 if there is none such: another one from the same port, or one that its owner has half closed,
    is not it. Raises `Unknown`.
    """
    ends = {b"%s:%04X" % (spelling, port) for spelling in _spellings(address)}
    to = b":%04X" % to_port
    for path in _TABLES:
        for line in _whole(path).splitlines()[1:]:
            fields = line.split(None, _INODE + 1)
            if (
                len(fields) > _INODE
                and fields[_CODE] == _ESTABLISHED
                and fields[_LOCAL] in ends
                and fields[_REMOTE].endswith(to)
            ):
                return int(fields[_USER])
    return -1


def _spellings(address: str) -> tuple[bytes, ...]:
    """An address as the tables write it; one of IPv4 may be that of a socket of IPv6."""
    if ":" in address:
        return (_written(_socket.inet_pton(_socket.AF_INET6, address)),)
    raw = _socket.inet_pton(_socket.AF_INET, address)
    return (_written(raw), _written(bytes(10) + b"\xff\xff" + raw))


def _written(raw: bytes) -> bytes:
    """Numbers of four bytes each, in the order of this machine."""
    words = (raw[at : at + 4] for at in range(0, len(raw), 4))
    return b"".join(b"%08X" % int.from_bytes(word, sys.byteorder) for word in words)


def _whole(path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as refused:
        if path != _TABLES[0] and isinstance(refused, FileNotFoundError):
            return b""
        raise Unknown(f"the system does not tell who listens ({refused.strerror})") from refused
    try:
        parts: list[bytes] = []
        while part := os.read(descriptor, 1 << 18):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)


def holds(pid: int, inodes: set[int]) -> bool:
    """Whether the process has one of these sockets open."""
    wanted = {f"socket:[{inode}]" for inode in inodes}
    folder = f"/proc/{pid}/fd"
    try:
        names = [entry.name for entry in os.scandir(folder)]
    except OSError:
        return False
    for name in names:
        try:
            if os.readlink(f"{folder}/{name}") in wanted:
                return True
        except OSError:
            continue
    return False


def hint_who_holds(port: int) -> str:
    """What to type to see who holds a port."""
    return f"ss -ltnp 'sport = :{port}'"


def hint_names() -> str:
    """What makes names below `localhost` known where they are not."""
    return "on Debian, `apt install libnss-myhostname` makes `*.localhost` known to all"
