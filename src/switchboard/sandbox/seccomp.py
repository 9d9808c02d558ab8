"""The system calls that nobody inside makes, as a program for the kernel's filter.

A list of what is denied: programs from anywhere have to run. Our own assembler, because the filter
is a hundred instructions and the known packages for it are no longer looked after.
"""

import errno
import struct
from collections.abc import Sequence

from msgspec import Struct

# Offsets in the data that a filter sees: the number of the call, the architecture, arguments.
_NUMBER, _ARCHITECTURE = 0, 4
_ARGUMENTS = (16, 24, 32, 40)
_ARGUMENT_0, _ARGUMENT_1 = _ARGUMENTS[:2]

_LOAD, _IF_EQUAL, _IF_AT_LEAST, _IF_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_AND = 0x54
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000, 0x80000000

# Every flag of `clone` that makes a namespace.
_NAMESPACES = 0x7E020000
_TERMINAL_INPUT = (0x5412, 0x541C)  # TIOCSTI and TIOCLINUX type into a terminal
_X32 = 0x40000000

_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_FAMILIES_WITH_NETWORK = (_INET, _INET6, _NETLINK)
# Pairs that stay pairs. One end of a pair of datagrams can be connected anew, to anybody.
_BOUND_KINDS = (1, 5)  # SOCK_STREAM, SOCK_SEQPACKET
_KIND_BITS = 0xF


class Machine(Struct, frozen=True):
    """One architecture: how the kernel names it, and its numbers for the calls we know."""

    audit: int
    column: int
    has_x32: bool = False


MACHINES = {
    "x86_64": Machine(audit=0xC000003E, column=0, has_x32=True),
    "aarch64": Machine(audit=0xC00000B7, column=1),
}

_DENIED = {
    # Other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    # Large and often broken parts of the kernel
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    # Keys, which no namespace keeps apart
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    # Mounts and namespaces
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "unshare": (272, 97),
    "setns": (308, 268),
    "open_by_handle_at": (304, 265),
    # The machine
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "syslog": (103, 116),
}
_CLONE, _CLONE3, _IOCTL = (56, 220), (435, 435), (16, 29)
_SOCKET, _SOCKETPAIR = (41, 198), (53, 199)

# A file that runs with its owner's rights would be left for other users of the machine.
_SET_ID_BITS = 0o6000
# By the argument that holds the mode. A few are missing on newer architectures.
_WITH_MODE = {
    "chmod": (1, (90, None)),
    "fchmod": (1, (91, 52)),
    "fchmodat": (2, (268, 53)),
    "fchmodat2": (2, (452, 452)),
    "creat": (1, (85, None)),
    "mknod": (1, (133, None)),
    "mknodat": (2, (259, 33)),
    "mkdir": (1, (83, None)),
    "mkdirat": (2, (258, 34)),
}
# The mode counts only where these flags, in the argument before it, make a file.
_OPEN_WITH_MODE = {"open": (2, (2, None)), "openat": (3, (257, 56))}
_MAKES_FILE = 0o100 | 0o20000000  # O_CREAT, and the bit of O_TMPFILE that is its own
# Its mode lies behind a pointer. Programs that use it fall back to `openat` on older kernels.
_OPENAT2 = (437, 437)
# `mseal`. What a later kernel adds is not known to be harmless, and programs do without it on an
# earlier one: among what came since are another way to mount and one to set attributes of files.
_NEWEST = 462

# What namespaces and read-only mounts see to otherwise: attributes of files that are closed, and
# memory and queues that all processes of a user share.
_DENIED_WITHOUT_NAMESPACES = (
    # chmod, fchmod, fchmodat, fchmodat2
    *((90, None), (91, 52), (268, 53), (452, 452)),
    # chown, fchown, lchown, fchownat
    *((92, None), (93, 55), (94, None), (260, 54)),
    # setxattr and removexattr, each with its `l` and `f`
    *((188, 5), (189, 6), (190, 7), (197, 14), (198, 15), (199, 16)),
    # shmget, shmat, shmctl, semget, semop, semctl, semtimedop
    *((29, 194), (30, 196), (31, 195), (64, 190), (65, 193), (66, 191), (220, 192)),
    # msgget, msgsnd, msgrcv, msgctl, mq_open, mq_unlink
    *((68, 186), (69, 189), (70, 188), (71, 187), (240, 180), (241, 181)),
)
# By the process that its first argument names; 0 is the caller.
_PRLIMIT = (302, 261)


def seccomp_filter(
    machine: Machine,
    *,
    allow_network: bool,
    has_namespaces: bool = True,
    unix_sockets: bool = False,
) -> bytes:
    """The filter as bubblewrap and the kernel read it.

    Unix sockets are for whoever has a network and mounts of its own: the first hides abstract
    ones of the host, the second those with a path.
    """
    at = machine.column
    families = _FAMILIES_WITH_NETWORK if allow_network else ()
    program = [
        _load(_ARCHITECTURE),
        *_unless_equal(machine.audit, _KILL),
        _load(_NUMBER),
        *([_jump(_IF_AT_LEAST, _X32, 0, 1), _give(_KILL)] if machine.has_x32 else []),
        *(_jump(_IF_AT_LEAST, _NEWEST + 1, 0, 1), _give(_refusal(errno.ENOSYS))),
    ]
    if not has_namespaces:
        for numbers in _DENIED_WITHOUT_NAMESPACES:
            program += _block(numbers[at], [_give(_refusal(errno.EPERM))])
        program += _block(_PRLIMIT[at], _choice(_ARGUMENT_0, (0,), errno.EPERM))
    for numbers in _DENIED.values():
        program += _block(numbers[at], [_give(_refusal(errno.EPERM))])
    program += _block(
        _CLONE[at],
        [
            _load(_ARGUMENT_0),
            _jump(_IF_ANY_BIT, _NAMESPACES, 0, 1),
            _give(_refusal(errno.EPERM)),
            _give(_ALLOW),
        ],
    )
    # Its flags lie behind a pointer, which a filter cannot follow; glibc then uses `clone`.
    program += _block(_CLONE3[at], [_give(_refusal(errno.ENOSYS))])
    program += _block(_OPENAT2[at], [_give(_refusal(errno.ENOSYS))])
    for argument, numbers in _WITH_MODE.values():
        program += _block(numbers[at], _no_set_id(argument))
    for argument, numbers in _OPEN_WITH_MODE.values():
        makes = [_load(_ARGUMENTS[argument - 1]), _jump(_IF_ANY_BIT, _MAKES_FILE, 1, 0)]
        program += _block(numbers[at], [*makes, _give(_ALLOW), *_no_set_id(argument)])
    program += _block(_IOCTL[at], _choice(_ARGUMENT_1, _TERMINAL_INPUT, errno.EPERM, deny=True))
    of_families = _choice(_ARGUMENT_0, families, errno.EAFNOSUPPORT)
    program += _block(_SOCKET[at], [*(_own_sockets() if unix_sockets else ()), *of_families])
    # A pair is how programs talk to their own children; it leads nowhere else.
    program += _block(
        _SOCKETPAIR[at],
        [
            _load(_ARGUMENT_0),
            *_unless_equal(_UNIX, _refusal(errno.EAFNOSUPPORT)),
            *_choice(_ARGUMENT_1, _BOUND_KINDS, errno.EPERM, bits=_KIND_BITS),
        ],
    )
    return b"".join([*program, _give(_ALLOW)])


def _refusal(number: int) -> int:
    return _REFUSE | number


def _own_sockets() -> list[bytes]:
    """Unix sockets that are connected. Logs and service managers take datagrams, browsers none."""
    kinds = _choice(_ARGUMENT_1, _BOUND_KINDS, errno.EPERM, bits=_KIND_BITS)
    return [_load(_ARGUMENT_0), _jump(_IF_EQUAL, _UNIX, 0, len(kinds)), *kinds]


def _no_set_id(argument: int) -> list[bytes]:
    """Refuse a mode that makes a program run with the rights of its owner or group."""
    return [
        _load(_ARGUMENTS[argument]),
        _jump(_IF_ANY_BIT, _SET_ID_BITS, 0, 1),
        _give(_refusal(errno.EPERM)),
        _give(_ALLOW),
    ]


def _block(number: int | None, body: Sequence[bytes]) -> list[bytes]:
    """What happens to one call, if there is such a call; the body always ends with an answer."""
    if number is None:
        return []
    return [_jump(_IF_EQUAL, number, 0, len(body)), *body]


def _choice(
    argument: int, values: Sequence[int], number: int, *, deny: bool = False, bits: int = 0
) -> list[bytes]:
    """Allow, or deny, a call by one of its arguments, or by some bits of it."""
    listed, others = _ALLOW, _refusal(number)
    if deny:
        listed, others = others, listed
    tests = [_jump(_IF_EQUAL, value, len(values) - index, 0) for index, value in enumerate(values)]
    masked = [_instruction(_AND, bits)] if bits else []
    return [_load(argument), *masked, *tests, _give(others), _give(listed)]


def _unless_equal(value: int, answer: int) -> list[bytes]:
    return [_jump(_IF_EQUAL, value, 1, 0), _give(answer)]


def _load(offset: int) -> bytes:
    return _instruction(_LOAD, offset)


def _give(answer: int) -> bytes:
    return _instruction(_RETURN, answer)


def _jump(test: int, value: int, if_true: int, if_false: int) -> bytes:
    return _instruction(test, value, if_true, if_false)


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)
