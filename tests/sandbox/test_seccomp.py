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
        "open": 2,
        "chmod": 90,
        "fchmod": 91,
        "fchmodat": 268,
        "fchmodat2": 452,
        "creat": 85,
        "mknod": 133,
        "mknodat": 259,
        "mkdir": 83,
        "mkdirat": 258,
        "openat2": 437,
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
        "fchmod": 52,
        "fchmodat": 53,
        "fchmodat2": 452,
        "mknodat": 33,
        "mkdirat": 34,
        "openat2": 437,
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


def judged(  # noqa: PLR0917 - the arguments of a call have an order
    machine: str,
    call: str | int,
    first: int = 0,
    second: int = 0,
    third: int = 0,
    fourth: int = 0,
    *,
    allow_network: bool = False,
    unix_sockets: bool = False,
    audit: int | None = None,
) -> int:
    """What the kernel would do with a call."""
    program = seccomp_filter(
        MACHINES[machine], allow_network=allow_network, unix_sockets=unix_sockets
    )
    number = NUMBERS[machine][call] if isinstance(call, str) else call
    data = struct.pack("IIQQQQQ", number, audit or AUDIT[machine], 0, first, second, third, fourth)
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
@pytest.mark.parametrize("network", [False, True])
def test_unix_sockets_of_a_browser_are_those_that_stay_connected(
    machine: str, network: bool
) -> None:
    def allowed(family: int) -> set[int]:
        return {
            kind
            for kind in (STREAM, DATAGRAM, RAW, SEQPACKET)
            if judged(
                machine,
                "socket",
                family,
                kind | CLOEXEC,
                allow_network=network,
                unix_sockets=True,
            )
            == ALLOWED
        }

    assert allowed(UNIX) == {STREAM, SEQPACKET}
    assert bool(allowed(INET)) == network
    assert allowed(PACKET) == set()


@pytest.mark.parametrize("machine", MACHINES)
def test_pairs_that_can_be_connected_anew_are_not_made(machine: str) -> None:
    def allowed(flags: int) -> set[int]:
        kinds = (STREAM, DATAGRAM, RAW, SEQPACKET)
        return {k for k in kinds if judged(machine, "socketpair", UNIX, k | flags) == ALLOWED}

    assert allowed(0) == allowed(CLOEXEC) == allowed(1 << 32) == {STREAM, SEQPACKET}
    assert judged(machine, "socketpair", UNIX, DATAGRAM) == refused(errno.EPERM)


MODE_SECOND = ("chmod", "fchmod", "creat", "mknod", "mkdir")
MODE_THIRD = ("fchmodat", "fchmodat2", "mknodat", "mkdirat")
O_CREAT, O_TMPFILE, O_WRONLY, O_DIRECTORY = 0o100, 0o20200000, 1, 0o200000


@pytest.mark.parametrize("machine", MACHINES)
def test_no_call_makes_a_program_that_runs_with_its_owners_rights(machine: str) -> None:
    def answers(mode: int, *, flags: int = O_CREAT) -> set[int]:
        known = NUMBERS[machine]
        second = {judged(machine, call, 0, mode) for call in MODE_SECOND if call in known}
        third = {judged(machine, call, 0, 0, mode) for call in MODE_THIRD if call in known}
        opened = {judged(machine, "openat", 0, 0, flags | O_WRONLY, mode)}
        if "open" in known:
            opened.add(judged(machine, "open", 0, flags | O_WRONLY, mode))
        return second | third | opened

    assert answers(0o755) == answers(0o1777) == {ALLOWED}
    for mode in (0o4755, 0o2755, 0o6000, 0o4000 | 1 << 32):
        assert answers(mode) == {refused(errno.EPERM)}
    assert answers(0o4755, flags=O_TMPFILE) == {refused(errno.EPERM)}
    # Whoever makes no file gives no mode: whatever stands there means nothing.
    for flags in (0, O_DIRECTORY):
        assert judged(machine, "openat", 0, 0, flags, 0o4755) == ALLOWED
    # What it is told lies behind a pointer.
    assert judged(machine, "openat2") == refused(errno.ENOSYS)


@pytest.mark.parametrize("machine", MACHINES)
def test_calls_that_came_after_the_filter_are_not_there(machine: str) -> None:
    """Such as `open_tree_attr`, by which a mount that was refused could be made all the same."""
    assert {judged(machine, number) for number in (463, 467, 469, 600, 0x3FFFFFFF)} == {
        refused(errno.ENOSYS)
    }
    assert judged(machine, 462) == ALLOWED


@pytest.mark.parametrize("machine", MACHINES)
def test_another_architecture_is_killed(machine: str) -> None:
    i386 = 0x40000003
    assert judged(machine, "read", audit=i386) == KILLED


def test_the_third_way_of_calling_is_killed() -> None:
    assert judged("x86_64", 0x40000000 | 101) == KILLED
