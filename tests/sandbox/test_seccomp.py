"""The filter, run by an interpreter of its own: also for the architecture that is not ours."""

import errno
import struct

import pytest

from switchboard.sandbox.seccomp import MACHINES, seccomp_filter

ALLOWED, KILLED, REFUSED = 0x7FFF0000, 0x80000000, 0x00050000
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# Numbers from the tables of the kernel, written down here anew.
NUMBERS = {
    "x86_64": {
        "read": 0,
        "openat": 257,
        "execve": 59,
        "fork": 57,
        "ioctl": 16,
        "clone": 56,
        "clone3": 435,
        "socket": 41,
        "socketpair": 53,
        "ptrace": 101,
        "mount": 165,
        "unshare": 272,
        "setns": 308,
        "keyctl": 250,
        "io_uring_setup": 425,
        "bpf": 321,
        "open_by_handle_at": 304,
        "process_vm_writev": 311,
        "userfaultfd": 323,
    },
    "aarch64": {
        "read": 63,
        "openat": 56,
        "execve": 221,
        "ioctl": 29,
        "clone": 220,
        "clone3": 435,
        "socket": 198,
        "socketpair": 199,
        "ptrace": 117,
        "mount": 40,
        "unshare": 97,
        "setns": 268,
        "keyctl": 219,
        "io_uring_setup": 425,
        "bpf": 280,
        "open_by_handle_at": 265,
        "process_vm_writev": 271,
        "userfaultfd": 282,
    },
}
HARMLESS = ("read", "openat", "execve")
FORBIDDEN = (
    *("ptrace", "mount", "unshare", "setns", "keyctl", "io_uring_setup", "bpf"),
    *("open_by_handle_at", "process_vm_writev", "userfaultfd"),
)
UNIX, INET, INET6, NETLINK, PACKET = 1, 2, 10, 16, 17
STREAM, DATAGRAM, RAW, SEQPACKET, CLOEXEC = 1, 2, 3, 5, 0o2000000
TIOCSTI, TIOCLINUX, TCGETS = 0x5412, 0x541C, 0x5401
NEW_USER, NEW_NET, THREAD = 0x10000000, 0x40000000, 0x3D0F00


def judged(
    machine: str,
    call: str | int,
    first: int = 0,
    second: int = 0,
    *,
    allow_network: bool = False,
    audit: int | None = None,
) -> int:
    """What the kernel would do with a call."""
    program = seccomp_filter(MACHINES[machine], allow_network=allow_network)
    number = NUMBERS[machine][call] if isinstance(call, str) else call
    data = struct.pack("IIQQQ", number, audit or AUDIT[machine], 0, first, second)
    instructions = list(struct.iter_unpack("HBBI", program))
    at = loaded = 0
    while True:
        code, if_true, if_false, value = instructions[at]
        at += 1
        match code:
            case 0x20:
                loaded = struct.unpack_from("I", data, value)[0]
            case 0x54:
                loaded &= value
            case 0x06:
                return value
            case _:
                tests = {0x15: loaded == value, 0x35: loaded >= value, 0x45: loaded & value}
                at += if_true if tests[code] else if_false


def refused(number: int) -> int:
    return REFUSED | number


@pytest.mark.parametrize("machine", MACHINES)
def test_ordinary_calls_are_allowed_and_dangerous_ones_are_not(machine: str) -> None:
    assert {judged(machine, call) for call in HARMLESS} == {ALLOWED}
    assert {judged(machine, call) for call in FORBIDDEN} == {refused(errno.EPERM)}


@pytest.mark.parametrize("machine", MACHINES)
def test_threads_may_be_made_and_namespaces_may_not(machine: str) -> None:
    assert judged(machine, "clone", THREAD) == ALLOWED
    assert judged(machine, "clone", NEW_USER) == refused(errno.EPERM)
    assert judged(machine, "clone", NEW_NET | THREAD) == refused(errno.EPERM)
    assert judged(machine, "clone3") == refused(errno.ENOSYS)


@pytest.mark.parametrize("machine", MACHINES)
def test_terminals_may_be_asked_and_not_typed_into(machine: str) -> None:
    assert judged(machine, "ioctl", 0, TCGETS) == ALLOWED
    # The kernel reads the lower half of the argument only, and so do we.
    for request in (TIOCSTI, TIOCLINUX, TIOCSTI | 1 << 32):
        assert judged(machine, "ioctl", 0, request) == refused(errno.EPERM)


@pytest.mark.parametrize("machine", MACHINES)
def test_families_of_sockets_depend_on_the_network(machine: str) -> None:
    def allowed(call: str, *, network: bool) -> set[int]:
        families = (UNIX, INET, INET6, NETLINK, PACKET)
        return {
            family
            for family in families
            if judged(machine, call, family, STREAM, allow_network=network) == ALLOWED
        }

    assert allowed("socket", network=False) == set()
    assert allowed("socket", network=True) == {INET, INET6, NETLINK}
    assert allowed("socketpair", network=False) == {UNIX}
    assert allowed("socketpair", network=True) == {UNIX}
    assert judged(machine, "socket", UNIX) == refused(errno.EAFNOSUPPORT)


@pytest.mark.parametrize("machine", MACHINES)
def test_pairs_that_can_be_connected_anew_are_not_made(machine: str) -> None:
    def allowed(flags: int) -> set[int]:
        kinds = (STREAM, DATAGRAM, RAW, SEQPACKET)
        return {k for k in kinds if judged(machine, "socketpair", UNIX, k | flags) == ALLOWED}

    assert allowed(0) == allowed(CLOEXEC) == allowed(1 << 32) == {STREAM, SEQPACKET}
    assert judged(machine, "socketpair", UNIX, DATAGRAM) == refused(errno.EPERM)


@pytest.mark.parametrize("machine", MACHINES)
def test_another_architecture_is_killed(machine: str) -> None:
    i386 = 0x40000003
    assert judged(machine, "read", audit=i386) == KILLED


def test_the_third_way_of_calling_is_killed() -> None:
    assert judged("x86_64", 0x40000000 | 101) == KILLED
