"""macOS: what is known of processes today."""

import os

from switchkit.platform import Unknown, Vitals

SHOWS_PROCESSES = False


def adopt_orphans() -> bool:
    return False


def boot() -> str:
    raise Unknown("the system does not tell which boot this is")


def first_children(pid: int) -> list[int]:
    raise Unknown(f"the system does not tell the children of process {pid}")


def is_living_child(pid: int) -> bool:
    """Nobody can tell."""
    del pid
    return False


def open_exit(pid: int) -> int:
    raise Unknown(f"the end of process {pid} cannot be watched")


def pids() -> list[int]:
    """Nobody is shown."""
    return []


def process_namespace() -> str:
    """There is one count of processes."""
    return ""


def raw_environment(pid: int) -> bytes:
    del pid
    return b""


def signal_exactly(pid: int, began: int, number: int) -> bool:
    """By number alone: when a process began is not known, so `began` cannot be compared."""
    del began
    try:
        os.kill(pid, number)
    except OSError:
        return False
    return True


def vitals(pid: int) -> Vitals | None:
    """Nobody is shown."""
    del pid
    return None
