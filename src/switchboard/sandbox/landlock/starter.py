"""Locks itself in, and becomes the program that was asked for.

`starter NUMBER` reads its orders from an open file of that number. It runs as a file of its own,
outside of any package and with nothing but the standard library, so that it starts quickly. It
decides nothing: what is allowed was decided by whoever wrote the orders. Whatever fails ends it
before the program begins. `starter` alone prints the version of Landlock that the kernel has.
"""

import ctypes
import marshal
import os
import signal
import stat
import sys

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION = 1
_PATH_BENEATH = 1
_NO_NEW_PRIVILEGES, _SECCOMP, _DROP_FROM_BOUNDS, _FILTER = 38, 22, 24, 2
_CAPABILITIES_VERSION = 0x20080522
_MOST_CAPABILITIES = 64
# The rights that a rule about a file may have: to execute, write, read, truncate, and ioctl.
_OF_FILES = 0b1100_0000_0000_0111
_STATUS_FAILED = 126

_C = ctypes.CDLL(None, use_errno=True)


class _Ruleset(ctypes.Structure):
    _fields_ = [
        ("files", ctypes.c_uint64),
        ("network", ctypes.c_uint64),
        ("scopes", ctypes.c_uint64),
    ]


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [("allowed", ctypes.c_uint64), ("number", ctypes.c_int32)]


class _FilterProgram(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]


def landlock_version() -> int:
    """The version that the kernel speaks; 0 without Landlock, or where it is switched off."""
    return max(0, _C.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _ASK_VERSION))


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _opened(path: bytes) -> int:
    """A path, no part of which is a link: whoever could put one there would choose what opens."""
    assert sys.platform == "linux"
    number = os.open(b"/", os.O_PATH | os.O_DIRECTORY)
    for name in path.split(b"/"):
        if name:
            above = number
            try:
                number = os.open(name, os.O_PATH | os.O_NOFOLLOW, dir_fd=above)
            finally:
                os.close(above)
    return number


def _lock_in(files: int, network: int, scopes: int, size: int, rules: "list[tuple[bytes, int]]"):  # noqa: ANN202 - light
    asked = _Ruleset(files, network, scopes)
    made = _C.syscall(_CREATE_RULESET, ctypes.byref(asked), ctypes.c_size_t(size), 0)
    ruleset = _checked(made, "landlock_create_ruleset")
    for path, allowed in rules:
        try:
            number = _opened(path)
        except OSError:
            # Gone, or another thing by now: nothing is opened there.
            continue
        mode = os.fstat(number).st_mode
        rights = allowed if stat.S_ISDIR(mode) else allowed & _OF_FILES
        if rights and not stat.S_ISLNK(mode):
            rule = _PathBeneath(rights, number)
            added = _C.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
            _checked(added, "landlock_add_rule")
        os.close(number)
    _checked(_C.syscall(_RESTRICT_SELF, ruleset, 0), "landlock_restrict_self")
    os.close(ruleset)


def _drop_capabilities() -> None:
    # Fails without the right to, and then there is nothing to drop; what counts is the last step.
    for each in range(_MOST_CAPABILITIES):
        _C.prctl(_DROP_FROM_BOUNDS, each, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(_CAPABILITIES_VERSION, 0)
    nothing = (ctypes.c_uint32 * 6)()
    _checked(_C.capset(header, nothing), "capset")


def main() -> None:
    """Carry out the orders."""
    number = int(sys.argv[1])
    with open(number, "rb") as file:
        orders = marshal.load(file)  # noqa: S302 - from whoever started us, by an open file
    _checked(_C.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0), "no_new_privs")
    _drop_capabilities()
    folder = _opened(orders["cwd"])
    os.fchdir(folder)
    os.close(folder)
    _lock_in(orders["files"], orders["network"], orders["scopes"], orders["size"], orders["rules"])
    code = orders["filter"]
    program = _FilterProgram(len(code) // 8, code)
    _checked(_C.prctl(_SECCOMP, _FILTER, ctypes.byref(program), 0, 0), "seccomp")
    # Python ignores these, and what is ignored stays so in the program.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    os.execve(orders["program"], orders["argv"], orders["env"])  # noqa: S606 - what it is for


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.stdout.write(str(landlock_version()))
    else:
        try:
            main()
        except Exception as error:  # noqa: BLE001 - whatever it is, nothing may run
            sys.stderr.write(f"landlock: {error}\n")
            sys.exit(_STATUS_FAILED)
