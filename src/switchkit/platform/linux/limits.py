"""Linux: limits of a process, set from outside."""

import resource
import sys

assert sys.platform == "linux"


def set_limit(pid: int, kind: int, limits: "tuple[int, int]") -> None:
    """Give another process of ours a limit. Raises `OSError`."""
    resource.prlimit(pid, kind, limits)


def lower_limit(pid: int, kind: int, most: int) -> None:
    """Lower a limit of another process of ours; one that is lower stays. Raises `OSError`."""
    without = resource.RLIM_INFINITY
    before = resource.prlimit(pid, kind)
    soft, hard = (most if each == without else min(each, most) for each in before)
    resource.prlimit(pid, kind, (soft, hard))
