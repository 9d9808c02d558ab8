"""Linux: files and folders by calls of its own."""

import fcntl
import os
import struct
import sys
from errno import EINVAL, ENOSYS, ENOTTY, EOPNOTSUPP, EXDEV

from switchkit.platform.linux.processes import PROC, read

assert sys.platform == "linux"

_FICLONE = 0x40049409
_CANNOT_CLONE = (EOPNOTSUPP, ENOTTY, EXDEV, EINVAL, ENOSYS)
_KEEP_SIZE, _PUNCH_HOLE = 1, 2
# Made, moved away, moved here, removed, in a folder.
_RENAMED = 0x100 | 0x40 | 0x80 | 0x200 | 0x01000000
_WRITTEN = 0x02
# `struct inotify_event`, without its name.
_EVENT = struct.Struct("iIII")
_MOST_EVENT_BYTES = 65536
# A handle that stands for a file without opening it.
HANDLE_ONLY = os.O_PATH
_GET_GENERATION = 0x80087601
_EMPTY_PATH, _BIRTH_TIME, _BIRTH_AT = 0x1000, 0x800, 0x50

# The disks of Windows, as WSL shows them: by the name of the file system, or behind one that only
# carries them, which then says so in an option (9p) or in the name of what is mounted (virtiofs).
_OF_WINDOWS, _BY_9P, _BY_VIRTIOFS = "drvfs", "9p", "virtiofs"


def foreign_disk(path: str) -> str:
    """Which file system a path, or the folder that it would be made in, lies on that is not ours.

    One whose modes, locks and sockets are those of another system; "" for any other. Told by what
    is mounted, wherever that is.
    """
    while True:
        try:
            device = os.stat(path).st_dev
            break
        except OSError:
            if path in {above := os.path.dirname(path), ""}:
                return ""
            path = above
    wanted = f"{os.major(device)}:{os.minor(device)}".encode()
    for line in read(f"{PROC}/self/mountinfo").splitlines():
        where, _, what = line.partition(b" - ")
        if where.split(None, 3)[2] == wanted:
            return _of_windows(*what.decode("utf-8", "replace").split(" ", 2))
    return ""


def _of_windows(kind: str = "", source: str = "", options: str = "") -> str:
    """The kind of what is mounted, if it is such a disk.

    Not by the word alone: a share of any other host may have it in its name or in its path.
    """
    anames = (each.partition("=")[2] for each in options.split(",") if each.startswith("aname="))
    is_one = (
        kind == _OF_WINDOWS
        or (kind == _BY_9P and any(each.split(";")[0] == _OF_WINDOWS for each in anames))
        or (kind == _BY_VIRTIOFS and source.startswith(_OF_WINDOWS))
    )
    return kind if is_one else ""


def watch_folders(folders: "list[int]") -> int:
    """A descriptor that can be read once something in one of these open folders got another name.

    Raises `OSError`.
    """
    return _watched(folders, _RENAMED)


def renamed_in(handle: int) -> "set[str] | None":
    """The names that such a descriptor has told of since; None when there was too much to tell.

    Raises `OSError`.
    """
    found: set[str] = set()
    while True:
        try:
            told = os.read(handle, _MOST_EVENT_BYTES)
        except BlockingIOError:
            return found
        at = 0
        while at < len(told):
            watch, _, _, length = _EVENT.unpack_from(told, at)
            at += _EVENT.size
            if watch < 0:
                return None
            found.add(os.fsdecode(told[at : at + length].rstrip(b"\0")))
            at += length


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
        name = f"{PROC}/self/fd/{each}".encode()
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
    try:
        return os.memfd_create(name, os.MFD_CLOEXEC)
    except (OSError, AttributeError):
        # An old kernel. Nobody else can have it by the name that it had for a moment.
        import tempfile  # noqa: PLC0415

        handle, path = tempfile.mkstemp(prefix=name)
        os.unlink(path)
        return handle


def clone_file(source: str, target: str, mode: int) -> bool:
    """Make a new file that shares the blocks of another. False if the disk cannot.

    Raises `OSError`.
    """
    reading = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    try:
        writing = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        try:
            fcntl.ioctl(writing, _FICLONE, reading)
            os.fchmod(writing, mode)
        except OSError as error:
            os.unlink(target)
            if error.errno in _CANNOT_CLONE:
                return False
            raise
        finally:
            os.close(writing)
    finally:
        os.close(reading)
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
