"""What a confined program may use at most, by the words of its entry.

Memory, files, time and size hold for each of its processes; the number of processes for all of
them, and memory too where there are control groups. Memory is what a process has made its own, not
what it has reserved: runtimes reserve far more than they use.
"""

import re
import resource
from collections.abc import Mapping

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_KINDS = {
    "memory": resource.RLIMIT_DATA,
    "files": resource.RLIMIT_NOFILE,
    "cpu": resource.RLIMIT_CPU,
    "disk": resource.RLIMIT_FSIZE,
}

Limits = Mapping[str, int | str]


def resource_limits(limits: Limits, least: Mapping[int, int]) -> dict[int, int]:
    """By the number of the resource, and never more than what holds for everybody."""
    found = dict(least)
    for name, kind in _KINDS.items():
        if name in limits:
            most = _bytes(limits[name])
            found[kind] = min(most, found.get(kind, most))
    return found


def most_memory(limits: Limits) -> int | None:
    """How many bytes there may be, if that is limited."""
    return _bytes(limits["memory"]) if "memory" in limits else None


def most_processes(limits: Limits) -> int | None:
    """How many processes there may be at once, if that is limited."""
    return int(limits["processes"]) if "processes" in limits else None


def narrowest(limits: Limits, others: Limits) -> dict[str, int | str]:
    """What keeps to both: of each limit the smaller one."""
    found = {**others, **limits}
    for name in limits.keys() & others.keys():
        found[name] = min(limits[name], others[name], key=_bytes)
    return found


def limits_in_words(limits: Limits) -> tuple[str, ...]:
    """As people are told of them."""
    units = {"cpu": " s"}
    words = ", ".join(f"{name} {limits[name]}{units.get(name, '')}" for name in sorted(limits))
    return (f"at most {words}",) if words else ()


def _bytes(written: int | str) -> int:
    match = re.fullmatch(r"(\d+)([KMGT]?)", str(written))
    assert match is not None
    return int(match[1]) * _UNITS[match[2]]
