"""What the shim needs of the operating system. It loads nothing else."""

import _socket
import os
import sys

# The kernel's list of what this process has open, by whatever name both systems have.
_OWN_FILES = "/dev/fd"
# Files that arrive beside a message stay in this program.
RECEIVE_CLOSED = getattr(_socket, "MSG_CMSG_CLOEXEC", 0)
_LAST_STREAM = 2
# macOS: `struct xucred`, and the process in an option of its own.
_SOL_LOCAL, _LOCAL_PEERCRED, _LOCAL_PEERPID = 0, 1, 2
_XUCRED_BYTES = 76
# Linux: `struct ucred`.
_UCRED_BYTES = 12
_MOST_AT_ONCE = 64 * 1024
# Whether a socket that refuses has nobody behind it. On macOS so does one where too many wait.
REFUSED_IS_GONE = sys.platform != "darwin"
_F_FULLFSYNC = 51


def peer(sock: _socket.socket) -> "tuple[int, int]":
    """The process and the user at the other side of a connected Unix socket.

    The process is 0 when it runs in another namespace. Raises `OSError`.
    """
    if sys.platform == "darwin":
        credentials = sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_BYTES)
        process = sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID, 4)
        return _number(process), _number(credentials[4:8])
    credentials = sock.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, _UCRED_BYTES)
    return _number(credentials[:4]), _number(credentials[4:8])


def system_name() -> str:
    """What the kernel calls itself."""
    return os.uname().sysname


def inheritable_files() -> "list[int]":
    """What this process would leave open in another program, but for the standard streams."""
    found: list[int] = []
    for name in os.listdir(_OWN_FILES):
        try:
            if int(name) > _LAST_STREAM and os.get_inheritable(int(name)):
                found.append(int(name))
        except OSError:
            # The one that the listing itself was read from is closed already.
            continue
    return found


def processor_time(pid: int) -> "int | None":
    """How long a process has computed, in ticks; None where that cannot be known."""
    try:
        file = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
    except OSError:
        return None
    try:
        # The name comes before, in parentheses, and may hold anything.
        words = os.read(file, 4096).rpartition(b")")[2].split()
    except OSError:
        return None
    finally:
        os.close(file)
    return int(words[11]) + int(words[12])


def sync_file(handle: int) -> None:
    """Bring a file, or the names in a folder, to the disk itself. Raises `OSError`."""
    if sys.platform == "darwin":
        # Without this the disk is told, and may lose it with the power.
        import fcntl  # noqa: PLC0415

        try:
            fcntl.fcntl(handle, _F_FULLFSYNC)
        except OSError:
            # A disk in the network has no such call.
            pass
        else:
            return
    os.fsync(handle)


def wake_pipe() -> "tuple[int, int]":
    """A pipe to wake a loop with: closed in other programs, and nobody waits at either end."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    return reading, writing


def nameless_file(folder: str) -> int:
    """A new file that others can only have from us. Raises `OSError`.

    In `folder` where the system has none that lie nowhere.
    """
    if sys.platform == "linux" and hasattr(os, "memfd_create"):
        try:
            return os.memfd_create("switchboard")
        except OSError:
            # A kernel, or a filter of calls, without it.
            pass
    path = os.path.join(folder, os.urandom(8).hex())
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    os.unlink(path)
    return file


def send_from(file: int, number: int, count: int) -> int:
    """Send what a file has from its position on, as much as a stream takes. Raises `OSError`.

    The position moves with it. Linux does both at once; elsewhere a process can be killed between.
    """
    if sys.platform == "linux":
        return os.sendfile(number, file, None, count)
    at = os.lseek(file, 0, os.SEEK_CUR)
    sent = os.write(number, os.pread(file, min(count, _MOST_AT_ONCE), at))
    os.lseek(file, at + sent, os.SEEK_SET)
    return sent


def _number(raw: bytes) -> int:
    return int.from_bytes(raw, sys.byteorder)
