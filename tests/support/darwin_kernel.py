"""A double of what `switchkit.platform.darwin.calls` asks of macOS, over the processes of Linux.

Each answer is the bytes that the headers of macOS describe (`darwin_structs`), filled from the
real table of processes; each refusal has the number that macOS gives. So what reads the bytes is
tried on real processes; that a Mac answers like this is not shown.
"""

import ctypes
import os
import socket
import stat
import struct
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from errno import EINVAL, ENOENT, EPERM, ESRCH
from typing import Any

from support import darwin_structs as structs
from support.recordings import recorded_bytes

_ENOTSUP = 45
_MOST_ARGUMENTS = 1 << 20
# What a Mac's own protection covers: nobody sees the variables of these.
_PROTECTED = ("/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/")
_STATES = {"R": 2, "S": 3, "D": 3, "I": 3, "T": 4, "t": 4, "Z": 5, "X": 5}
_FRESH_S = 0.2
_TCP_STATES = {0x0A: 1, 0x01: 4}

# Kept from before a simulation takes them away from everybody else.
_open, _read, _close = os.open, os.read, os.close
_listdir, _readlink, _stat = os.listdir, os.readlink, os.stat
_pidfd_open = getattr(os, "pidfd_open", None)


def _no(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def _file(path: str) -> bytes:
    handle = _open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        whole = b""
        while part := _read(handle, 1 << 16):
            whole += part
        return whole
    finally:
        _close(handle)


class _Process:
    """One row of the table."""

    def __init__(self, pid: int) -> None:
        try:
            head, _, tail = _file(f"/proc/{pid}/stat").rpartition(b")")
            status = _file(f"/proc/{pid}/status").decode("utf-8", "replace")
        except OSError:
            raise _no(ESRCH) from None
        fields = tail.split()
        self.pid = pid
        self.name = head.partition(b"(")[2][:15]
        state = fields[0].decode()
        self.status = 3 if state == "Z" and int(fields[17]) > 1 else _STATES[state]
        self.parent, self.group, self.session = (int(each) for each in fields[1:4])
        self.terminal = int(fields[4])
        self.ticks = int(fields[19])
        self.resident = int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
        users = next(line for line in status.splitlines() if line.startswith("Uid:")).split()
        self.real_user, self.user = int(users[1]), int(users[2])

    def check_user(self) -> None:
        """Most questions are answered about one's own processes only."""
        if os.geteuid() not in (0, self.user):
            raise _no(EPERM)


def _shape(shape: Any, call: str, question: int, **fields: Any) -> Any:
    """A structure, around whose fields there is what a real Mac had there, if one was recorded."""
    raw = recorded_bytes("darwin", call, question)
    made = shape() if raw is None else shape.from_buffer_copy(raw)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def process_info(pid: int, question: int, argument: int, size: int) -> bytes:
    """`proc_pidinfo`."""
    about = _Process(pid)
    if about.status == 5 and not argument and question in (3, 13, 17):
        raise _no(ESRCH)
    if question == 13:
        made: Any = _shape(
            structs.ShortInfo,
            "process_info",
            question,
            pid=pid,
            ppid=about.parent,
            pgid=about.group,
            status=about.status,
            comm=about.name,
            uid=about.user,
            ruid=about.real_user,
        )
    elif question == 17:
        made = _shape(structs.UniqueInfo, "process_info", question, uniqueid=about.ticks)
    elif question == 3:
        about.check_user()
        began = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + about.ticks / 100
        made = _shape(
            structs.BsdInfo,
            "process_info",
            question,
            pid=pid,
            tdev=about.terminal or 0xFFFF_FFFF,
            start_tvsec=int(began),
            start_tvusec=int(began % 1 * 1e6),
        )
    elif question == 4:
        about.check_user()
        made = _shape(structs.TaskInfo, "process_info", question, resident_size=about.resident)
    elif question == 9:
        about.check_user()
        made = _shape(structs.FolderInfo, "process_info", question)
        made.cdir.path = b""
        with suppress(OSError):
            made.cdir.path = os.fsencode(_readlink(f"/proc/{pid}/cwd"))
    else:
        raise _no(EINVAL)
    assert ctypes.sizeof(made) == size
    return bytes(made)


def _kind(link: str) -> int:
    return 2 if link.startswith("socket:") else 6 if link.startswith("pipe:") else 1


def process_files(pid: int) -> bytes:
    """`proc_pidinfo` with PROC_PIDLISTFDS."""
    _Process(pid).check_user()
    found = b""
    try:
        names = _listdir(f"/proc/{pid}/fd")
    except OSError:
        raise _no(ESRCH) from None
    for name in names:
        with suppress(OSError):
            link = _readlink(f"/proc/{pid}/fd/{name}")
            found += bytes(structs.FileEntry(fd=int(name), fdtype=_kind(link)))
    return found


def file_info(pid: int, file: int, question: int, size: int) -> bytes:
    """`proc_pidfdinfo`."""
    _Process(pid).check_user()
    try:
        link = _readlink(f"/proc/{pid}/fd/{file}")
        there = _stat(f"/proc/{pid}/fd/{file}")
        lines = _file(f"/proc/{pid}/fdinfo/{file}").splitlines()
    except OSError:
        raise _no(ENOENT) from None
    flags = next(int(line.split()[1], 8) for line in lines if line.startswith(b"flags:"))
    # FREAD and FWRITE are one more than what `open` is given.
    head = structs.FileInfo(openflags=(flags & os.O_ACCMODE) + 1)
    if {2: 1, 3: 2, 6: 6}[question] != _kind(link):
        raise _no(EINVAL)
    known = structs.Stat(dev=there.st_dev & 0xFFFF_FFFF, ino=there.st_ino)
    if question == 2:
        made: Any = _shape(structs.VnodeFile, "file_info", question, file=head)
        made.vnode.path = b""
        made.vnode.stat = known
        if stat.S_ISREG(there.st_mode) or stat.S_ISDIR(there.st_mode):
            made.vnode.path = os.fsencode(link)
    elif question == 6:
        ends = [there.st_ino * 2, there.st_ino * 2 + 1]
        if flags & os.O_ACCMODE == os.O_WRONLY:
            ends.reverse()
        elif not _has_writer(pid, file):
            ends[1] = 0
        made = _shape(
            structs.PipeFile,
            "file_info",
            question,
            file=head,
            stat=known,
            handle=ends[0],
            peerhandle=ends[1],
        )
    else:
        made = _shape(
            structs.SocketFile,
            "file_info",
            question,
            file=head,
            stat=known,
            so=there.st_ino,
            kind=3,
        )
        _describe_tcp(made, there.st_ino)
    assert ctypes.sizeof(made) == size
    return bytes(made)


def _has_writer(pid: int, file: int) -> bool:
    import select  # noqa: PLC0415

    try:
        pipe = _open(f"/proc/{pid}/fd/{file}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return True
    try:
        poll = select.poll()
        poll.register(pipe, select.POLLIN)
        return not any(event & select.POLLHUP for _, event in poll.poll(0))
    finally:
        _close(pipe)


class _Connections:
    """The rows of TCP sockets by inode, read anew for each walk over all processes."""

    def __init__(self) -> None:
        self._rows: dict[int, tuple[list[bytes], int]] = {}
        self._read_at = 0.0

    def forget(self) -> None:
        self._read_at = 0.0

    def row(self, inode: int) -> tuple[list[bytes], int] | None:
        if time.monotonic() - self._read_at > _FRESH_S:
            self._rows = {
                int(fields[9]): (fields, flag)
                for path, flag in (("/proc/net/tcp", 1), ("/proc/net/tcp6", 2))
                for line in _file(path).splitlines()[1:]
                if (fields := line.split(None, 10))
            }
            self._read_at = time.monotonic()
        return self._rows.get(inode)


_connections = _Connections()


def _describe_tcp(made: Any, inode: int) -> None:
    if (row := _connections.row(inode)) is None:
        return
    fields, made.tcp.ini.vflag = row
    made.kind = 2
    made.tcp.state = _TCP_STATES.get(int(fields[3], 16), 9)
    (address, local), (_, remote) = (each.split(b":") for each in fields[1:3])
    made.tcp.ini.lport = socket.htons(int(local, 16))
    made.tcp.ini.fport = socket.htons(int(remote, 16))
    raw = bytes.fromhex(address.decode())
    words = struct.unpack(f"={len(raw) // 4}I", raw)
    plain = b"".join(struct.pack(">I", each) for each in words)
    made.tcp.ini.laddr[:] = plain.rjust(16, b"\0")


def session_of(pid: int) -> int:
    """`getsid`, which looks among the living."""
    if _Process(pid).status == 5:
        raise _no(ESRCH)
    return os.getsid(pid)


def process_list(kind: int, of: int = 0) -> list[int]:
    """`proc_listpids`, with a zero in it as the real one has sometimes."""
    _connections.forget()
    everyone = [int(name) for name in _listdir("/proc") if name.isdigit()]
    if kind == 1:
        return [0, *everyone]
    found: list[int] = []
    for pid in everyone:
        with suppress(OSError):
            if _Process(pid).parent == of:
                found.append(pid)
    return found


def kernel_value(which: "Sequence[int] | bytes", most: int) -> bytes:
    """`sysctl` and `sysctlbyname`."""
    if which == b"kern.bootsessionuuid":
        return _file("/proc/sys/kernel/random/boot_id").strip().upper() + b"\0"
    if tuple(which) == (1, 8):
        return _MOST_ARGUMENTS.to_bytes(4, sys.byteorder)
    first, second, pid = which
    if (first, second) != (1, 49):
        raise _no(ENOENT)
    try:
        about = _Process(pid)
        about.check_user()
    except OSError:
        # Whatever the reason, this is what is told.
        raise _no(EINVAL) from None
    if about.status == 5:
        raise _no(EINVAL)
    words = _file(f"/proc/{pid}/cmdline")
    path = _readlink(f"/proc/{pid}/exe")
    variables = b"" if path.startswith(_PROTECTED) else _file(f"/proc/{pid}/environ")
    head = words.count(b"\0").to_bytes(4, sys.byteorder) + os.fsencode(path)
    return (head + bytes(8 - len(head) % 8) + words + variables + b"\0")[:most]


def clone(source: bytes, target: bytes) -> None:
    """`clonefile`, on a disk that cannot."""
    del source, target
    raise OSError(_ENOTSUP, "Operation not supported")


def exit_events(pid: int) -> int:
    """A kqueue with EVFILT_PROC and NOTE_EXIT."""
    if _Process(pid).status == 5:
        raise _no(ESRCH)
    assert _pidfd_open is not None
    return _pidfd_open(pid)


CALLS = (
    process_info,
    process_files,
    file_info,
    process_list,
    session_of,
    kernel_value,
    clone,
    exit_events,
)
