"""The processes of one POSIX session. Standard library only: the warden imports it.

Every process we start leads a session of its own, and what it starts stays in it unless it takes
pains to leave. So the session, not the process group, tells what belongs to a child.
"""

import os
import signal

_PROC = "/proc"
_KILL_ROUNDS = 100


def start_ticks(pid: int) -> int | None:
    """When the process began, in clock ticks since boot; None when there is none (or a zombie)."""
    stat = _stat(pid)
    return None if stat is None or stat[0] == "Z" else int(stat[19])


def members(session: int) -> list[int]:
    """The living processes of a session."""
    if not os.path.isdir(_PROC):  # noqa: PTH112 - the warden imports no pathlib
        return [session] if _is_alive(session) else []
    found: list[int] = []
    for name in os.listdir(_PROC):  # noqa: PTH208 - as above
        if name.isdigit():
            stat = _stat(int(name))
            if stat is not None and stat[0] != "Z" and int(stat[3]) == session:
                found.append(int(name))
    return found


def send(session: int, number: int) -> None:
    """Signal every process of a session."""
    for pid in members(session):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue
    try:
        os.killpg(session, number)
    except (ProcessLookupError, PermissionError):
        return


def kill(session: int) -> None:
    """End every process of a session, those that are born meanwhile included."""
    # Bounded, because a process stuck in the kernel dies only when it comes back from there.
    for _ in range(_KILL_ROUNDS):
        if not members(session):
            return
        send(session, signal.SIGKILL)


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat from the state on; the name before it may hold anything."""
    try:
        with open(f"{_PROC}/{pid}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()
    except OSError:
        return None


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
