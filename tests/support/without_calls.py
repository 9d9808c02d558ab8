"""A command under a kernel that lacks some system calls: a filter answers them with ENOSYS.

`python without_calls.py NAME[,NAME...] COMMAND...` runs a command so, and whatever it starts. Old
kernels, gVisor and the filters of some containers look like this from inside.
"""

import ctypes
import errno
import os
import struct
import sys

_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2
_LOAD, _IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000

# The numbers of x86_64 and aarch64.
CALLS = {
    "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424),
    "memfd_create": (319, 279),
    "fallocate": (285, 47),
    "statx": (332, 291),
}
PIDFD = "pidfd_open,pidfd_send_signal"


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


def take_away(names: list[str]) -> None:
    """Have this process, and all that come of it, do without these calls."""
    column = ("x86_64", "aarch64").index(os.uname().machine)
    code = _instruction(_LOAD, 0)
    for name in names:
        code += _instruction(_IF_EQUAL, CALLS[name][column], 0, 1)
        code += _instruction(_RETURN, _REFUSE | errno.ENOSYS)
    code += _instruction(_RETURN, _ALLOW)
    program = _Program(len(code) // 8, code)
    libc = ctypes.CDLL(None, use_errno=True)
    wanted = ((_NO_NEW_PRIVILEGES, 1, 0), (_SECCOMP, _FILTER, ctypes.byref(program)))
    for option, first, second in wanted:
        if libc.prctl(option, first, second, 0, 0):
            raise OSError(ctypes.get_errno(), "the filter was refused")


if __name__ == "__main__":
    take_away(sys.argv[1].split(","))
    os.execvp(sys.argv[2], sys.argv[2:])
