"""macOS: processes by libproc and sysctl, their ends by kqueue."""

import os
from errno import ESRCH

from switchkit.platform import Unknown, Vitals, checked_signal
from switchkit.platform.darwin import calls, layouts
from switchkit.platform.darwin.layouts import number, text

SHOWS_PROCESSES = True


def pids() -> list[int]:
    """Every process, whoever owns it."""
    try:
        return [pid for pid in calls.process_list(layouts.ALL_PIDS) if pid > 0]
    except OSError:
        return []


def vitals(pid: int) -> Vitals | None:
    """One process as it is now; None when there is none of that number.

    What is asked here is told of any user's process: `login`, above the shell of a terminal, is
    root's. Only the terminal is not. Of one that has ended the session is not told either: it has
    its own number there, which is right for a leader, and of anybody else is nobody's.
    """
    try:
        about = calls.process_info(
            pid, layouts.SHORT_INFO, layouts.WITH_ZOMBIES, layouts.SHORT_INFO_BYTES
        )
        began = _began(pid)
    except OSError:
        return None
    status = number(about, layouts.SHORT_STATUS_AT)
    state = layouts.STATES[status] if status < len(layouts.STATES) else "?"
    try:
        session = calls.session_of(pid)
    except ProcessLookupError:
        session, state = pid, layouts.STATES[-1]
    except OSError:
        return None
    return Vitals(
        pid,
        state,
        parent=number(about, layouts.SHORT_PARENT_AT),
        group=number(about, layouts.SHORT_GROUP_AT),
        session=session,
        began=began,
        name=text(about, layouts.SHORT_NAME_AT, layouts.NAME_BYTES),
        terminal=_terminal(pid),
    )


def _began(pid: int) -> int:
    """The number that the kernel counts up with each process: as good as a time, to compare."""
    about = calls.process_info(
        pid, layouts.UNIQUE_INFO, layouts.WITH_ZOMBIES, layouts.UNIQUE_INFO_BYTES
    )
    return number(about, layouts.UNIQUE_AT, 8)


def _terminal(pid: int) -> int:
    try:
        about = calls.process_info(
            pid, layouts.BSD_INFO, layouts.WITH_ZOMBIES, layouts.BSD_INFO_BYTES
        )
    except OSError:
        return 0
    found = number(about, layouts.BSD_TERMINAL_AT)
    return 0 if found == layouts.NO_TERMINAL else found


def first_children(pid: int) -> list[int]:
    """The children of a process. Raises `Unknown`."""
    try:
        return [each for each in calls.process_list(layouts.CHILDREN_OF, pid) if each > 0]
    except OSError as refused:
        raise Unknown(f"the system does not tell the children of process {pid}") from refused


def boot() -> str:
    """The identity of this boot. Its time would move with the clock."""
    try:
        name = calls.kernel_value(layouts.BOOT_NAME, 64).rstrip(b"\0").decode("ascii", "replace")
    except OSError:
        name = ""
    if not name:
        raise Unknown("the system does not tell which boot this is")
    return name


def process_namespace() -> str:
    """There is one count of processes."""
    return ""


def raw_environment(pid: int) -> bytes:
    """The variables that a process was started with, each ended by a zero; empty if it has ended.

    Raises `Unknown` when they are not shown. Those of programs that the system protects, all of
    `/bin` and `/usr/bin`, never are; and none look like some that are hidden.
    """
    found = arguments_and_variables(pid)
    if found is None or not found[1]:
        if vitals(pid) is None:
            return b""
        raise Unknown(f"the variables of process {pid} are not ours to see")
    return found[1]


def arguments_and_variables(pid: int) -> tuple[tuple[bytes, ...], bytes] | None:
    """The command line and the variables of a process of ours; None when they are not shown."""
    try:
        most = number(calls.kernel_value(layouts.MOST_ARGUMENTS, 4), 0)
        raw = calls.kernel_value((*layouts.ARGUMENTS_OF, pid), most)
    except OSError:
        return None
    return parsed_arguments(raw)


def parsed_arguments(raw: bytes) -> tuple[tuple[bytes, ...], bytes]:
    """What KERN_PROCARGS2 tells: a count, the path, zeros, the words, the variables, an empty one.

    Raises nothing: what is cut off is not there.
    """
    count = number(raw, 0)
    words = raw[4:].partition(b"\0")[2].lstrip(b"\0").split(b"\0")
    variables: list[bytes] = []
    for each in words[count:]:
        if not each:
            break
        variables.append(each + b"\0")
    return tuple(words[:count]), b"".join(variables)


def open_exit(pid: int) -> int:
    """A descriptor that can be read once the process has ended.

    Raises `ProcessLookupError` when there is none of that number, or it has ended already;
    `Unknown` when it cannot be watched.
    """
    try:
        return calls.exit_events(pid)
    except OSError as error:
        if error.errno == ESRCH:
            raise ProcessLookupError(ESRCH, os.strerror(ESRCH)) from None
        raise Unknown(f"the end of process {pid} cannot be watched ({error})") from None


def signal_exactly(pid: int, began: int, number: int) -> str:
    """Signal the process that began then and no other. Says what became of it.

    Between the look and the signal lies a moment: there is no handle that closes it.
    """
    return checked_signal(vitals(pid), pid, began, number)


def has_handles() -> bool:
    """Whether a signal goes by a handle of the kernel, which means one process for good."""
    return False


def is_living_child(pid: int) -> bool:
    """Of no use where everybody is shown."""
    found = vitals(pid)
    return found is not None and found.parent == os.getpid() and not found.is_dead


def adopt_orphans() -> bool:
    """Orphans go to the first process."""
    return False
