"""Linux: pipes and sockets between processes."""

import fcntl
import os
import stat
import sys
from errno import ECONNRESET

from switchkit.platform import Unknown
from switchkit.platform.linux.processes import PROC, read

assert sys.platform == "linux"

# sock_diag(7): a header and a `unix_diag_req`; the answer has attributes behind both.
_SOCK_DIAG, _BY_FAMILY, _ASKED_BYTES, _ATTRIBUTES_AT = 4, 20, 40, 32
_SHUTDOWN, _NOTHING_COMES, _ALL = 6, 1, 0xFFFFFFFF
_FIONREAD, _SIOCOUTQ = 0x541B, 0x5411
_F_SETPIPE_SZ = 1031
_WIDE_PIPE_BYTES = 1024 * 1024


def stream_of(pid: int, number: int = 0) -> str:
    """Which pipe or socket a process has as its input, or under a number; "" for anything else."""
    try:
        link = os.readlink(f"{PROC}/{pid}/fd/{number}")
    except OSError:
        return ""
    return link if link.startswith(("pipe:", "socket:")) else ""


def streams_of(pid: int, *, to_write: bool = False) -> set[str] | None:
    """Every pipe and socket that a process holds, or can write to; None when that is not shown."""
    try:
        numbers = [int(number) for number in os.listdir(f"{PROC}/{pid}/fd")]
    except PermissionError:
        return None
    except OSError:
        # It has ended.
        return set()
    wanted = (number for number in numbers if not to_write or _can_write(pid, number))
    return {stream for number in wanted if (stream := stream_of(pid, number))}


def _can_write(pid: int, number: int) -> bool:
    for line in read(f"{PROC}/{pid}/fdinfo/{number}").splitlines():
        if line.startswith(b"flags:"):
            return int(line.split()[1], 8) & os.O_ACCMODE != os.O_RDONLY
    return False


def is_input_over(pid: int) -> bool:
    """Whether the input of a process is a pipe or a socket that nobody can write to any more."""
    import select  # noqa: PLC0415 - only whoever sweeps asks

    stream = stream_of(pid)
    if stream.startswith("socket:"):
        return _is_cut(int(stream.removeprefix("socket:[").rstrip("]")))
    try:
        # One more reader for a moment, which takes nothing out of it.
        pipe = os.open(f"{PROC}/{pid}/fd/0", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        poll = select.poll()
        poll.register(pipe, select.POLLIN)
        return any(event & select.POLLHUP for _, event in poll.poll(0))
    finally:
        os.close(pipe)


def _is_cut(inode: int) -> bool:
    """Whether the other end of a Unix socket is gone, asked from the kernel by sock_diag(7).

    False where it does not tell, as of a socket of another kind.
    """
    import socket  # noqa: PLC0415 - as above

    numbers = ((_ASKED_BYTES, 4), (_BY_FAMILY, 2), (1, 2), (1, 4), (0, 4))
    # One socket by its inode, whatever its state; no cookie is known of it.
    wanted = (
        (socket.AF_UNIX, 1),
        (0, 1),
        (0, 2),
        (_ALL, 4),
        (inode, 4),
        (0, 4),
        (_ALL, 4),
        (_ALL, 4),
    )
    asked = b"".join(value.to_bytes(size, sys.byteorder) for value, size in numbers + wanted)
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
            kernel.settimeout(1.0)
            kernel.send(asked)
            told = kernel.recv(4096)
    except OSError:
        return False
    if int.from_bytes(told[4:6], sys.byteorder) != _BY_FAMILY:
        return False
    at = _ATTRIBUTES_AT
    while at + 4 <= len(told):
        length, kind = (int.from_bytes(told[at + by : at + by + 2], sys.byteorder) for by in (0, 2))
        if kind == _SHUTDOWN:
            return bool(told[at + 4] & _NOTHING_COMES)
        at += max(4, (length + 3) & ~3)
    return False


def unread_bytes(handle: int) -> int:
    """How much of what was written to a pipe or a socket nobody has read. Raises `Unknown`.

    Of a socket it may be more than was written, but it is nothing exactly when all was read.
    """
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISFIFO(mode):
            raw = fcntl.ioctl(handle, _FIONREAD, bytes(4))
        elif stat.S_ISSOCK(mode):
            raw = fcntl.ioctl(handle, _SIOCOUTQ, bytes(4))
        else:
            raise Unknown("only pipes and sockets tell")
    except OSError as error:
        raise Unknown(str(error)) from error
    return int.from_bytes(raw, sys.byteorder)


def was_cut_off(handle: int) -> bool:
    """Whether the other end of a socket was closed before all of it was read.

    What was not read is then forgotten, and `unread_bytes` counts nothing. It is told once.
    """
    import socket  # noqa: PLC0415 - whoever has a socket has loaded it

    try:
        if not stat.S_ISSOCK(os.fstat(handle).st_mode):
            return False
        with socket.socket(fileno=os.dup(handle)) as other:
            return other.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == ECONNRESET
    except OSError:
        return False


def widen_pipe(handle: int) -> None:
    """Let many messages wait in a pipe, if it is one and the system lets us."""
    try:
        fcntl.fcntl(handle, _F_SETPIPE_SZ, _WIDE_PIPE_BYTES)
    except OSError:
        return
