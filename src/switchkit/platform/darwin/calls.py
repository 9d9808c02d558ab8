"""macOS: the calls of libSystem and of the kernel that Python has no name for.

None of them takes a varying number of arguments: those must not be called this way on Apple's own
processors. Each raises `OSError` with the kernel's number.
"""

import ctypes
import os
import select
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

from switchkit.platform.darwin import layouts

# More processes may come between the two questions.
_ROOM = 64


@cache
def _library() -> Any:
    """The functions that are in every process, with the types of their arguments."""
    made: Any = ctypes.CDLL(None, use_errno=True)
    whole, address, size = ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t
    made.proc_pidinfo.argtypes = (whole, whole, ctypes.c_uint64, address, whole)
    made.proc_pidfdinfo.argtypes = (whole, whole, whole, address, whole)
    made.proc_listpids.argtypes = (ctypes.c_uint32, ctypes.c_uint32, address, whole)
    made.sysctl.argtypes = (address, ctypes.c_uint, address, address, address, size)
    made.sysctlbyname.argtypes = (ctypes.c_char_p, address, address, address, size)
    made.clonefile.argtypes = (ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint32)
    return made


def _failure() -> OSError:
    known = ctypes.get_errno()
    return OSError(known, os.strerror(known))


def process_info(pid: int, question: int, argument: int, size: int) -> bytes:
    """The answer of `proc_pidinfo`, whole."""
    answer = ctypes.create_string_buffer(size)
    got = _library().proc_pidinfo(pid, question, argument, answer, size)
    if got < size:
        raise _failure()
    return answer.raw


def process_files(pid: int) -> bytes:
    """The list of what a process has open, of any length."""
    library = _library()
    wanted = library.proc_pidinfo(pid, layouts.LIST_FILES, 0, None, 0)
    if wanted <= 0:
        raise _failure()
    size = wanted + _ROOM * layouts.FILE_BYTES
    answer = ctypes.create_string_buffer(size)
    got = library.proc_pidinfo(pid, layouts.LIST_FILES, 0, answer, size)
    if got <= 0:
        raise _failure()
    return answer.raw[:got]


def file_info(pid: int, file: int, question: int, size: int) -> bytes:
    """The answer of `proc_pidfdinfo`, whole."""
    answer = ctypes.create_string_buffer(size)
    got = _library().proc_pidfdinfo(pid, file, question, answer, size)
    if got < size:
        raise _failure()
    return answer.raw


def process_list(kind: int, of: int = 0) -> list[int]:
    """The numbers of `proc_listpids`, which answers 0 when it is refused as when there is none."""
    library = _library()
    wanted = library.proc_listpids(kind, of, None, 0)
    # Room for everybody, whoever is asked for: never none.
    if wanted <= 0:
        raise _failure()
    size = wanted + _ROOM * 4
    answer = ctypes.create_string_buffer(size)
    ctypes.set_errno(0)
    got = library.proc_listpids(kind, of, answer, size)
    if got <= 0 and ctypes.get_errno():
        raise _failure()
    return [layouts.number(answer.raw, at) for at in range(0, got, 4)]


def session_of(pid: int) -> int:
    """The answer of `getsid`, which knows nobody who has ended, reaped or not."""
    return os.getsid(pid)


def kernel_value(which: "Sequence[int] | bytes", most: int) -> bytes:
    """What `sysctl` tells under numbers, or under a name; `most` bytes of it."""
    library = _library()
    answer = ctypes.create_string_buffer(most)
    size = ctypes.c_size_t(most)
    if isinstance(which, bytes):
        done = library.sysctlbyname(which, answer, ctypes.byref(size), None, 0)
    else:
        path = (ctypes.c_int * len(which))(*which)
        done = library.sysctl(path, len(which), answer, ctypes.byref(size), None, 0)
    if done:
        raise _failure()
    return answer.raw[: size.value]


def clone(source: bytes, target: bytes) -> None:
    """Make a new file that shares the blocks of another."""
    if _library().clonefile(source, target, layouts.CLONE_NO_FOLLOW):
        raise _failure()


def exit_events(pid: int) -> int:
    """A descriptor that can be read once the process has ended. `ESRCH`: it has."""
    if sys.platform != "darwin":
        raise OSError("this system has no such events")
    queue = select.kqueue()
    try:
        wanted = select.kevent(pid, layouts.FILTER_PROCESS, layouts.ADD_ONCE, layouts.NOTE_EXIT)
        queue.control([wanted], 0)
        # What the object closes when nobody has it any more is not what we give away.
        return os.dup(queue.fileno())
    finally:
        queue.close()
