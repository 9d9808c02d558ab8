"""What a process holds in memory and what it has computed, as the kernel counts it."""

from collections.abc import Sequence
from pathlib import Path

from .family import family


def resident(pid: int) -> int:
    """Bytes in memory now; 0 when the process is gone."""
    return _field(pid, "VmRSS")


def peak(pid: int) -> int:
    """The most bytes in memory since the start, or since `forget_peak`."""
    return _field(pid, "VmHWM")


def forget_peak(pid: int) -> None:
    """Let the peak begin anew at what is in memory now."""
    Path(f"/proc/{pid}/clear_refs").write_text("5", "ascii")


def computed(pid: int) -> float:
    """Seconds that all threads of the process have run on a processor."""
    seconds = 0.0
    for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        try:
            seconds += int(task.read_bytes().split()[0]) / 1e9
        except (OSError, IndexError):
            continue
    return seconds


def gateway_processes(leader: int, child: Sequence[str]) -> list[int]:
    """The processes of a gateway without the children that it relays to."""
    return sorted(pid for pid in family({leader}) if _command(pid) != list(child))


def _command(pid: int) -> list[str]:
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return []
    return line.decode("utf-8", "replace").split("\0")[:-1]


def _field(pid: int, name: str) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
    except OSError:
        return 0
    found = next((line for line in lines if line.startswith(f"{name}:")), None)
    return int(found.split()[1]) * 1024 if found else 0
