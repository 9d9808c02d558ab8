"""How many files a process of ours may have open, and what its children are given instead."""

import contextlib
import resource

from switchkit.platform.limits import set_limit

# What we were started with, once it has been raised.
_first: "tuple[int, int] | None" = None


def raise_file_limit(wanted: int) -> None:
    """Let this process, and it alone, have so many files open."""
    global _first  # noqa: PLW0603 - the limit belongs to the process, and so does this
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY:
        wanted = min(hard, wanted)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        _first = _first or (soft, hard)


def give_first_limit(pid: int) -> None:
    """Give a process that we have just started the limit that we were started with.

    Some programs look at every number below it, and some cannot use large ones. Where a limit can
    be set by its owner alone (macOS) the child keeps ours: code between fork and exec is not safe
    in a program with threads.
    """
    if _first is not None:
        # It may have ended already.
        with contextlib.suppress(OSError):
            set_limit(pid, resource.RLIMIT_NOFILE, _first)


def file_limit() -> int:
    """How many files this process may have open now."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
