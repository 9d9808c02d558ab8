"""Linux: processes by `/proc` and pidfd, files by its own calls. Light: the reaper imports it."""

import fcntl
import os
import stat
import sys
from errno import ECONNRESET, EINVAL, ENOSYS, ENOTTY, EOPNOTSUPP, EXDEV

from switchkit.platform import Unknown, Vitals

_PROC = "/proc"
# Hidden in some sandboxes and by a kernel without it.
SHOWS_PROCESSES = os.path.isdir(f"{_PROC}/self")

_STATE, _PARENT, _GROUP, _SESSION, _TERMINAL, _BEGAN = 0, 1, 2, 3, 4, 19

_PR_SET_CHILD_SUBREAPER = 36
_FICLONE = 0x40049409
_CANNOT_CLONE = (EOPNOTSUPP, ENOTTY, EXDEV, EINVAL, ENOSYS)
_KEEP_SIZE, _PUNCH_HOLE = 1, 2
# Made, moved away, moved here, removed, in a folder.
_RENAMED = 0x100 | 0x40 | 0x80 | 0x200 | 0x01000000
_WRITTEN = 0x02
_GET_GENERATION = 0x80087601
_EMPTY_PATH, _BIRTH_TIME, _BIRTH_AT = 0x1000, 0x800, 0x50
_FIONREAD, _SIOCOUTQ = 0x541B, 0x5411
_F_SETPIPE_SZ = 1031
_WIDE_PIPE_BYTES = 1024 * 1024


def pids() -> list[int]:
    """Every process that is shown to us."""
    return [int(name) for name in os.listdir(_PROC) if name.isdigit()] if SHOWS_PROCESSES else []


def vitals(pid: int) -> Vitals | None:
    """One process as it is now; None when there is none of that number."""
    raw = _read(f"{_PROC}/{pid}/stat")
    if not raw:
        return None
    # The name stands in brackets and may hold anything, brackets and blanks too.
    head, _, tail = raw.rpartition(b")")
    fields = tail.split(None, _BEGAN + 1)
    return Vitals(
        pid,
        fields[_STATE].decode("ascii"),
        parent=int(fields[_PARENT]),
        group=int(fields[_GROUP]),
        session=int(fields[_SESSION]),
        began=int(fields[_BEGAN]),
        name=head.partition(b"(")[2],
        terminal=int(fields[_TERMINAL]),
    )


def first_children(pid: int) -> list[int]:
    """The children that the first thread of a process started. Raises `Unknown`."""
    path = f"{_PROC}/{pid}/task/{pid}/children"
    if not (raw := _read(path)) and not os.path.exists(path) and vitals(pid) is not None:
        raise Unknown("this kernel does not list children")
    return [int(child) for child in raw.split()]


def boot() -> str:
    """The identity of this boot: numbers of processes and their times mean nothing across boots."""
    text = _read(f"{_PROC}/sys/kernel/random/boot_id").decode("ascii").strip()
    if not text:
        raise Unknown("the system does not tell which boot this is")
    return text


def process_namespace() -> str:
    """In which of the kernel's counts the numbers of processes stand here; "" if unknown.

    A container that shares the home has a count of its own, in which ours mean nothing.
    """
    try:
        return os.readlink(f"{_PROC}/self/ns/pid")
    except OSError:
        return ""


def command_line(pid: int) -> str:
    """The command line as one text, for messages."""
    return " ".join(command_words(pid)).rstrip()


def command_words(pid: int) -> tuple[str, ...]:
    """The words that a process was started with; none when it has ended or is not ours to see."""
    raw = _read(f"{_PROC}/{pid}/cmdline")
    return tuple(raw.decode("utf-8", "replace").removesuffix("\0").split("\0")) if raw else ()


def raw_environment(pid: int) -> bytes:
    """The variables that a process was started with, each ended by a zero; empty if not shown."""
    return _read(f"{_PROC}/{pid}/environ")


def working_folder(pid: int) -> str | None:
    """Where a process stands; None when it has ended or is not ours to see."""
    try:
        return os.readlink(f"{_PROC}/{pid}/cwd")
    except OSError:
        return None


def stream_of(pid: int, number: int = 0) -> str:
    """Which pipe or socket a process has as its input, or under a number; "" for anything else."""
    try:
        link = os.readlink(f"{_PROC}/{pid}/fd/{number}")
    except OSError:
        return ""
    return link if link.startswith(("pipe:", "socket:")) else ""


def streams_of(pid: int, *, to_write: bool = False) -> set[str] | None:
    """Every pipe and socket that a process holds, or can write to; None when that is not shown."""
    try:
        numbers = [int(number) for number in os.listdir(f"{_PROC}/{pid}/fd")]
    except PermissionError:
        return None
    except OSError:
        # It has ended.
        return set()
    wanted = (number for number in numbers if not to_write or _can_write(pid, number))
    return {stream for number in wanted if (stream := stream_of(pid, number))}


def _can_write(pid: int, number: int) -> bool:
    for line in _read(f"{_PROC}/{pid}/fdinfo/{number}").splitlines():
        if line.startswith(b"flags:"):
            return int(line.split()[1], 8) & os.O_ACCMODE != os.O_RDONLY
    return False


def is_input_over(pid: int) -> bool:
    """Whether the input of a process is a pipe that nobody anywhere can write to any more."""
    import select  # noqa: PLC0415 - only whoever sweeps asks

    try:
        # One more reader for a moment, which takes nothing out of it.
        pipe = os.open(f"{_PROC}/{pid}/fd/0", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        poll = select.poll()
        poll.register(pipe, select.POLLIN)
        return any(event & select.POLLHUP for _, event in poll.poll(0))
    finally:
        os.close(pipe)


def user_of(pid: int) -> int | None:
    """Who started a process, by the number of the user, also where its files are not shown."""
    for line in _read(f"{_PROC}/{pid}/status").splitlines():
        if line.startswith(b"Uid:"):
            return int(line.split()[1])
    return None


def owner_of(pid: int) -> int | None:
    """Whose a process is, by the number of the user; None when it has ended."""
    try:
        return os.stat(f"{_PROC}/{pid}").st_uid
    except OSError:
        return None


def resident_bytes(pid: int) -> int | None:
    """What a process has in memory now; None if it has ended."""
    fields = _read(f"{_PROC}/{pid}/statm").split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") if len(fields) > 1 else None


def open_exit(pid: int) -> int:
    """A descriptor that can be read once the process has ended.

    Raises `ProcessLookupError` when there is none of that number, `Unknown` when the kernel has no
    such descriptors.
    """
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        raise
    except OSError as error:
        raise Unknown(f"the end of process {pid} cannot be watched ({error.strerror})") from None


def signal_exactly(pid: int, began: int, number: int) -> bool:
    """Signal the process that began then and no other. Says whether it was there."""
    from signal import pidfd_send_signal  # noqa: PLC0415

    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    except OSError:
        # An old kernel: a moment lies between the look and the signal.
        return _is_same(pid, began) and _send(pid, number)
    try:
        # What the handle stands for cannot change any more, so this is the last look.
        if not _is_same(pid, began):
            return False
        pidfd_send_signal(handle, number)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def _is_same(pid: int, began: int) -> bool:
    found = vitals(pid)
    return found is not None and found.began == began


def _send(pid: int, number: int) -> bool:
    try:
        os.kill(pid, number)
    except OSError:
        return False
    return True


def set_limit(pid: int, kind: int, limits: "tuple[int, int]") -> None:
    """Give another process of ours a limit. Raises `OSError`."""
    import resource  # noqa: PLC0415

    resource.prlimit(pid, kind, limits)


def lower_limit(pid: int, kind: int, most: int) -> None:
    """Lower a limit of another process of ours; one that is lower stays. Raises `OSError`."""
    import resource  # noqa: PLC0415

    without = resource.RLIM_INFINITY
    before = resource.prlimit(pid, kind)
    soft, hard = (most if each == without else min(each, most) for each in before)
    resource.prlimit(pid, kind, (soft, hard))


def adopt_orphans() -> bool:
    """Become the parent of descendants whose own parent ends. Says whether that is possible."""
    import ctypes  # noqa: PLC0415

    try:
        return ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    except (OSError, AttributeError):
        return False


def watch_folders(folders: "list[int]") -> int:
    """A descriptor that can be read once something in one of these open folders got another name.

    Raises `OSError`.
    """
    return _watched(folders, _RENAMED)


def watch_writes(files: "list[int]") -> int:
    """As `watch_folders`, once one of these open files was written to."""
    return _watched(files, _WRITTEN)


def _watched(handles: "list[int]", events: int) -> int:
    import ctypes  # noqa: PLC0415

    libc = ctypes.CDLL(None, use_errno=True)
    handle = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    if handle < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    for each in handles:
        name = f"{_PROC}/self/fd/{each}".encode()
        if libc.inotify_add_watch(handle, name, ctypes.c_uint32(events)) < 0:
            number = ctypes.get_errno()
            os.close(handle)
            raise OSError(number, os.strerror(number))
    return handle


def folder_identity(path: str) -> str:
    """What tells a folder from any other, also from a later one at its path. Raises `OSError`.

    The number of an inode is given again once it is free, so its generation, or the moment it was
    made, goes with it. The number of the device may be another after the next boot.
    """
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        disk = os.fstatvfs(handle).f_fsid or os.fstat(handle).st_dev
        return f"{disk:x}-{os.fstat(handle).st_ino:x}-{_birth(handle)}"
    finally:
        os.close(handle)


def _birth(handle: int) -> str:
    try:
        return "g" + fcntl.ioctl(handle, _GET_GENERATION, bytes(8))[:4].hex()
    except OSError:
        pass
    # The few disks that do not tell it are not worth what this costs everybody else.
    import ctypes  # noqa: PLC0415

    found = ctypes.create_string_buffer(256)
    try:
        done = ctypes.CDLL(None).statx(handle, b"", _EMPTY_PATH, _BIRTH_TIME, found)
    except (OSError, AttributeError):
        return ""
    told = int.from_bytes(found.raw[:4], sys.byteorder) & _BIRTH_TIME
    return "t" + found.raw[_BIRTH_AT : _BIRTH_AT + 12].hex() if done == 0 and told else ""


def scratch_file(name: str) -> int:
    """A file without a place on disk, which is gone once it is closed. Raises `OSError`."""
    return os.memfd_create(name, os.MFD_CLOEXEC)


def clone_file(reading: int, writing: int) -> bool:
    """Let an empty file share the blocks of another. False if the disk cannot. Raises `OSError`."""
    try:
        fcntl.ioctl(writing, _FICLONE, reading)
    except OSError as error:
        if error.errno in _CANNOT_CLONE:
            return False
        raise
    return True


def punch_hole(handle: int, length: int) -> bool:
    """Free the disk space of the first bytes of a file; offsets and writers are unaffected."""
    import ctypes  # noqa: PLC0415

    try:
        libc = ctypes.CDLL(None, use_errno=True)
        start, size = ctypes.c_long(0), ctypes.c_long(length)
        return libc.fallocate(handle, _KEEP_SIZE | _PUNCH_HOLE, start, size) == 0
    except (OSError, AttributeError):
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


def _read(path: str) -> bytes:
    """A small file of the kernel; empty when the process is gone or not ours to read."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        whole = b""
        while part := os.read(handle, 1 << 16):
            whole += part
    except OSError:
        return b""
    else:
        return whole
    finally:
        os.close(handle)


def widen_pipe(handle: int) -> None:
    """Let many messages wait in a pipe, if it is one and the system lets us."""
    try:
        fcntl.fcntl(handle, _F_SETPIPE_SZ, _WIDE_PIPE_BYTES)
    except OSError:
        return
