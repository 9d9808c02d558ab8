"""Linux: processes by `/proc`, their ends and signals by pidfd. Light: the reaper imports it."""

import os
import sys

from switchkit.platform import GONE, SENT, Unknown, Vitals, checked_signal

PROC = "/proc"


def read(path: str) -> bytes:
    """A small file of the kernel; empty when the process is gone or not ours to read."""
    try:
        return whole(path)
    except OSError:
        return b""


def whole(path: str) -> bytes:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        whole = b""
        while part := os.read(handle, 1 << 16):
            whole += part
        return whole
    finally:
        os.close(handle)


assert sys.platform == "linux"


# Hidden in some sandboxes and by a kernel without it.
SHOWS_PROCESSES = os.path.isdir(f"{PROC}/self")

_STATE, _PARENT, _GROUP, _SESSION, _TERMINAL, _THREADS, _BEGAN = 0, 1, 2, 3, 4, 17, 19

_PR_SET_CHILD_SUBREAPER = 36


def pids() -> list[int]:
    """Every process that is shown to us."""
    return [int(name) for name in os.listdir(PROC) if name.isdigit()] if SHOWS_PROCESSES else []


def vitals(pid: int) -> Vitals | None:
    """One process as it is now; None when there is none of that number."""
    raw = read(f"{PROC}/{pid}/stat")
    if not raw:
        return None
    # The name stands in brackets and may hold anything, brackets and blanks too.
    head, _, tail = raw.rpartition(b")")
    fields = tail.split(None, _BEGAN + 1)
    state = fields[_STATE].decode("ascii")
    if state == "Z" and int(fields[_THREADS]) > 1:
        # Its first thread has ended, and others go on.
        state = "S"
    return Vitals(
        pid,
        state,
        parent=int(fields[_PARENT]),
        group=int(fields[_GROUP]),
        session=int(fields[_SESSION]),
        began=int(fields[_BEGAN]),
        name=head.partition(b"(")[2],
        terminal=int(fields[_TERMINAL]),
    )


def first_children(pid: int) -> list[int]:
    """The children that the first thread of a process started. Raises `Unknown`."""
    path = f"{PROC}/{pid}/task/{pid}/children"
    if not (raw := read(path)) and not os.path.exists(path) and vitals(pid) is not None:
        raise Unknown("this kernel does not list children")
    return [int(child) for child in raw.split()]


def boot() -> str:
    """The identity of this boot: numbers of processes and their times mean nothing across boots."""
    text = read(f"{PROC}/sys/kernel/random/boot_id").decode("ascii").strip()
    if not text:
        raise Unknown("the system does not tell which boot this is")
    return text


def process_namespace() -> str:
    """In which of the kernel's counts the numbers of processes stand here; "" if unknown.

    A container that shares the home has a count of its own, in which ours mean nothing.
    """
    try:
        return os.readlink(f"{PROC}/self/ns/pid")
    except OSError:
        return ""


def raw_environment(pid: int) -> bytes:
    """The variables that a process was started with, each ended by a zero; empty if it has ended.

    Raises `Unknown` when we may not see them.
    """
    try:
        return whole(f"{PROC}/{pid}/environ")
    except PermissionError as refused:
        raise Unknown(f"the variables of process {pid} are not ours to see") from refused
    except OSError:
        return b""


def open_exit(pid: int) -> int:
    """A descriptor that can be read once the process has ended.

    Raises `ProcessLookupError` when there is none of that number, `Unknown` when the kernel has no
    such descriptors.
    """
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        raise
    except (OSError, AttributeError) as error:
        raise Unknown(f"the end of process {pid} cannot be watched ({error})") from None


def has_handles() -> bool:
    """Whether a signal goes by a handle of the kernel, which means one process for good."""
    import signal  # noqa: PLC0415

    try:
        handle = os.pidfd_open(os.getpid())
    except (OSError, AttributeError):
        return False
    try:
        signal.pidfd_send_signal(handle, 0)
    except (OSError, AttributeError):
        return False
    finally:
        os.close(handle)
    return True


def signal_exactly(pid: int, began: int, number: int) -> str:
    """Signal the process that began then and no other. Says what became of it."""
    import signal  # noqa: PLC0415

    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return GONE
    except (OSError, AttributeError):
        # An old kernel: a moment lies between the look and the signal.
        return checked_signal(vitals(pid), pid, began, number)
    try:
        # What the handle stands for cannot change any more, so this is the last look.
        found = vitals(pid)
        if found is None or found.began != began:
            return checked_signal(found, pid, began, number)
        signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        return GONE
    except (OSError, AttributeError):
        # A filter of calls may know one of the two only, or the process is another user's.
        return checked_signal(vitals(pid), pid, began, number)
    finally:
        os.close(handle)
    return SENT


def is_living_child(pid: int) -> bool:
    """Whether it is a child of ours that has not ended: nobody else gets its number meanwhile."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    except OSError:
        return False


def adopt_orphans() -> bool:
    """Become the parent of descendants whose own parent ends. Says whether that is possible."""
    import ctypes  # noqa: PLC0415

    try:
        return ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    except (OSError, AttributeError):
        return False
