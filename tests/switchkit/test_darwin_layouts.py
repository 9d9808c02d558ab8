"""What `platform/darwin` takes for granted of macOS, against tables written down with their source.

The bytes of these tests are made from the headers. None was recorded on a Mac.
"""

import ctypes
import os
import struct
import sys
from collections.abc import Callable
from ctypes import sizeof
from pathlib import Path
from typing import Any

import pytest

from support import darwin_structs as structs
from switchkit.platform import UNKNOWN, Unknown
from switchkit.platform.darwin import calls, files, layouts, ports, processes, streams

SOCKET = structs.SocketFile
TCP = SOCKET.tcp.offset
INET = structs.InetInfo

# Each constant, the header of xnu that has it, and its name there.
CONSTANTS = {
    "ALL_PIDS": (1, "proc_info.h", "PROC_ALL_PIDS"),
    "CHILDREN_OF": (6, "proc_info.h", "PROC_PPID_ONLY"),
    "LIST_FILES": (1, "proc_info.h", "PROC_PIDLISTFDS"),
    "BSD_INFO": (3, "proc_info.h", "PROC_PIDTBSDINFO"),
    "TASK_INFO": (4, "proc_info.h", "PROC_PIDTASKINFO"),
    "FOLDER_INFO": (9, "proc_info.h", "PROC_PIDVNODEPATHINFO"),
    "SHORT_INFO": (13, "proc_info.h", "PROC_PIDT_SHORTBSDINFO"),
    "UNIQUE_INFO": (17, "proc_info_private.h", "PROC_PIDUNIQIDENTIFIERINFO"),
    "OF_VNODE": (1, "proc_info.h", "PROX_FDTYPE_VNODE"),
    "OF_SOCKET": (2, "proc_info.h", "PROX_FDTYPE_SOCKET"),
    "OF_PIPE": (6, "proc_info.h", "PROX_FDTYPE_PIPE"),
    "VNODE_PATH_INFO": (2, "proc_info.h", "PROC_PIDFDVNODEPATHINFO"),
    "SOCKET_INFO": (3, "proc_info.h", "PROC_PIDFDSOCKETINFO"),
    "PIPE_INFO": (6, "proc_info.h", "PROC_PIDFDPIPEINFO"),
    "KIND_TCP": (2, "proc_info.h", "SOCKINFO_TCP"),
    "LISTENS": (1, "proc_info.h", "TSI_S_LISTEN"),
    "IS_CONNECTED": (4, "proc_info.h", "TSI_S_ESTABLISHED"),
    "IS_V4": (1, "proc_info.h", "INI_IPV4"),
    "IS_V6": (2, "proc_info.h", "INI_IPV6"),
    "CAN_WRITE": (2, "fcntl.h", "FWRITE"),
    "ARGUMENTS_OF": ((1, 49), "sysctl.h", "CTL_KERN, KERN_PROCARGS2"),
    "MOST_ARGUMENTS": ((1, 8), "sysctl.h", "CTL_KERN, KERN_ARGMAX"),
    "GET_PATH": (50, "fcntl.h", "F_GETPATH"),
    "FULL_SYNC": (51, "fcntl.h", "F_FULLFSYNC"),
    "PUNCH_HOLE": (99, "fcntl.h", "F_PUNCHHOLE"),
    "OPEN_FOR_EVENTS": (0x8000, "fcntl.h", "O_EVTONLY"),
    "CASE_COUNTS": (11, "unistd.h", "_PC_CASE_SENSITIVE"),
    "CLONE_NO_FOLLOW": (1, "clonefile.h", "CLONE_NOFOLLOW"),
    "FILTER_PROCESS": (-5, "event.h", "EVFILT_PROC"),
    "NOTE_EXIT": (0x8000_0000, "event.h", "NOTE_EXIT"),
    "ADD_ONCE": (0x11, "event.h", "EV_ADD | EV_ONESHOT"),
    "STATES": ("?IRSTZ", "proc.h", "SIDL 1, SRUN 2, SSLEEP 3, SSTOP 4, SZOMB 5"),
}
SIZES = {
    "FILE_BYTES": structs.FileEntry,
    "BSD_INFO_BYTES": structs.BsdInfo,
    "TASK_INFO_BYTES": structs.TaskInfo,
    "FOLDER_INFO_BYTES": structs.FolderInfo,
    "SHORT_INFO_BYTES": structs.ShortInfo,
    "UNIQUE_INFO_BYTES": structs.UniqueInfo,
    "VNODE_PATH_INFO_BYTES": structs.VnodeFile,
    "SOCKET_INFO_BYTES": structs.SocketFile,
    "PIPE_INFO_BYTES": structs.PipeFile,
}
OFFSETS = {
    "BSD_TERMINAL_AT": structs.BsdInfo.tdev.offset,
    "BSD_STARTED_S_AT": structs.BsdInfo.start_tvsec.offset,
    "BSD_STARTED_US_AT": structs.BsdInfo.start_tvusec.offset,
    "SHORT_PARENT_AT": structs.ShortInfo.ppid.offset,
    "SHORT_GROUP_AT": structs.ShortInfo.pgid.offset,
    "SHORT_STATUS_AT": structs.ShortInfo.status.offset,
    "SHORT_NAME_AT": structs.ShortInfo.comm.offset,
    "SHORT_USER_AT": structs.ShortInfo.uid.offset,
    "SHORT_REAL_USER_AT": structs.ShortInfo.ruid.offset,
    "UNIQUE_AT": structs.UniqueInfo.uniqueid.offset,
    "RESIDENT_AT": structs.TaskInfo.resident_size.offset,
    "FOLDER_PATH_AT": structs.FolderInfo.cdir.offset + structs.VnodePath.path.offset,
    "FILE_NUMBER_AT": structs.FileEntry.fd.offset,
    "FILE_KIND_AT": structs.FileEntry.fdtype.offset,
    "OPEN_FLAGS_AT": structs.FileInfo.openflags.offset,
    "DEVICE_AT": structs.VnodeFile.vnode.offset + structs.Stat.dev.offset,
    "INODE_AT": structs.VnodeFile.vnode.offset + structs.Stat.ino.offset,
    "VNODE_PATH_AT": structs.VnodeFile.vnode.offset + structs.VnodePath.path.offset,
    "PIPE_OWN_AT": structs.PipeFile.handle.offset,
    "PIPE_OTHER_AT": structs.PipeFile.peerhandle.offset,
    "SOCKET_AT": SOCKET.so.offset,
    "SOCKET_KIND_AT": SOCKET.kind.offset,
    "REMOTE_PORT_AT": TCP + INET.fport.offset,
    "LOCAL_PORT_AT": TCP + INET.lport.offset,
    "ADDRESS_KIND_AT": TCP + INET.vflag.offset,
    "LOCAL_ADDRESS_AT": TCP + INET.laddr.offset,
    "TCP_STATE_AT": TCP + structs.TcpInfo.state.offset,
}


def test_every_number_is_that_of_the_headers() -> None:
    for name, (value, header, theirs) in CONSTANTS.items():
        assert getattr(layouts, name) == value, f"{theirs} of {header}"
    for name, shape in SIZES.items():
        assert getattr(layouts, name) == sizeof(shape), name
    for name, offset in OFFSETS.items():
        assert getattr(layouts, name) == offset, name


def test_no_number_is_left_out_of_the_tables() -> None:
    told = {*CONSTANTS, *SIZES, *OFFSETS}
    # Lengths of texts, arguments and lists of errors.
    others = {
        *("WITH_ZOMBIES", "NAME_BYTES", "PATH_BYTES", "NO_TERMINAL", "V4_IN_ADDRESS"),
        *("BOOT_NAME", "PUNCH_FORMAT", "CANNOT_SHARE"),
    }
    assert {name for name in vars(layouts) if name.isupper()} == told | others


def test_the_sizes_are_the_known_ones() -> None:
    """Computed once more from the published headers, by somebody else."""
    known = {"BsdInfo": 136, "FileInfo": 24, "Stat": 136, "FolderInfo": 2352, "InetInfo": 80}
    known |= {"TcpInfo": 120, "SocketFile": 792, "UniqueInfo": 56, "ShortInfo": 64, "TaskInfo": 96}
    assert {name: sizeof(getattr(structs, name)) for name in known} == known


def test_a_hole_is_asked_for_as_the_header_says() -> None:
    class Hole(ctypes.Structure):
        """`struct fpunchhole`."""

        _fields_ = (
            ("flags", ctypes.c_uint32),
            ("reserved", ctypes.c_uint32),
            ("offset", ctypes.c_int64),
            ("length", ctypes.c_int64),
        )

    wanted = bytes(Hole(length=8192))
    assert struct.pack(layouts.PUNCH_FORMAT, 0, 0, 0, 8192) == wanted


def told(count: int, path: bytes, words: list[bytes], variables: list[bytes]) -> bytes:
    head = count.to_bytes(4, sys.byteorder) + path
    padded = head + bytes(8 - len(head) % 8)
    return padded + b"".join(each + b"\0" for each in (*words, *variables)) + b"\0"


@pytest.mark.parametrize(
    ("raw", "words", "variables"),
    [
        (
            told(2, b"/opt/bin/node", [b"node", b"a b.js"], [b"A=1", b"B="]),
            (b"node", b"a b.js"),
            b"A=1\0B=\0",
        ),
        # An empty word in the middle is a word.
        (told(3, b"/x/python", [b"p", b"", b"-c"], [b"A=1"]), (b"p", b"", b"-c"), b"A=1\0"),
        # What the system adds for the loader stands behind an empty one.
        (
            told(1, b"/x/p", [b"p"], [b"A=1", b"", b"executable_path=/x/p"]),
            (b"p",),
            b"A=1\0",
        ),
        # A protected program shows its words alone.
        (told(2, b"/bin/sh", [b"sh", b"-c"], []), (b"sh", b"-c"), b""),
        (b"", (), b""),
        (b"\x01\0\0\0", (b"",), b""),
    ],
)
def test_words_and_variables_are_told_apart(
    raw: bytes, words: tuple[bytes, ...], variables: bytes
) -> None:
    assert processes.parsed_arguments(raw) == (words, variables)


def refusing(number: int) -> Callable[..., Any]:
    def refuse(*_: object) -> Any:
        raise OSError(number, os.strerror(number))

    return refuse


def test_what_is_refused_is_unknown_and_nobody_is_signalled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("process_info", "process_files", "file_info", "process_list", "kernel_value"):
        monkeypatch.setattr(calls, name, refusing(1))
    monkeypatch.setattr(calls, "exit_events", refusing(22))
    assert processes.vitals(os.getpid()) is None
    assert processes.pids() == []
    assert processes.signal_exactly(os.getpid(), 0, 9) == UNKNOWN
    for ask in (processes.boot, ports.listening):
        with pytest.raises(Unknown):
            ask()
    for ask_of in (processes.first_children, processes.open_exit, ports.addresses):
        with pytest.raises(Unknown):
            ask_of(os.getpid())
    with pytest.raises(Unknown):
        streams.unread_bytes(0)


class Refusing:
    """libproc, which answers 0 both when it is refused and when there is nothing to tell."""

    def __init__(self, *answers: tuple[int, int]) -> None:
        self._answers = [*answers]

    def proc_listpids(self, *_: object) -> int:
        number, got = self._answers.pop(0)
        if number:
            ctypes.set_errno(number)
        return got


@pytest.mark.parametrize("answers", [[(1, 0)], [(0, 400), (1, 0)]])
def test_a_list_that_is_refused_is_not_an_empty_one(
    monkeypatch: pytest.MonkeyPatch, answers: list[tuple[int, int]]
) -> None:
    ctypes.set_errno(0)
    monkeypatch.setattr(calls, "_library", lambda: Refusing(*answers))
    with pytest.raises(Unknown):
        processes.first_children(os.getpid())


def test_whoever_has_no_children_has_none_whatever_failed_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(calls, "_library", lambda: Refusing((0, 400), (0, 0)))
    ctypes.set_errno(1)
    assert processes.first_children(os.getpid()) == []


def test_a_hole_is_as_large_as_whole_blocks_allow(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What is best read at once is a megabyte there, and a block four kilobytes."""
    disk = os.statvfs_result((1 << 20, 4096, *range(8)))
    asked: list[tuple[Any, ...]] = []

    def told(handle: int) -> os.statvfs_result:
        assert handle == log.fileno()
        return disk

    def control(*words: Any) -> int:
        asked.append(words)
        return 0

    with (tmp_path / "log").open("w+b") as log:
        monkeypatch.setattr(os, "fstatvfs", told)
        monkeypatch.setattr(files.fcntl, "fcntl", control)
        assert files.punch_hole(log.fileno(), 20_000)
        hole = struct.pack("=IIqq", 0, 0, 0, 16_384)
        assert asked == [(log.fileno(), layouts.PUNCH_HOLE, hole)]


def test_no_function_with_varying_arguments_is_called() -> None:
    text = Path(calls.__file__).read_text("utf-8")
    assert "argtypes" in text
    for name in ("fcntl", "ioctl", "open", "openat", "semctl", "printf"):
        assert f"library().{name}(" not in text
        assert f"made.{name}." not in text
