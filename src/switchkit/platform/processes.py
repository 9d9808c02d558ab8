"""Processes: who is there, since when, how one is watched and signalled. Light, for the reaper."""

import sys

if sys.platform == "darwin":
    from switchkit.platform.darwin.processes import (
        SHOWS_PROCESSES,
        adopt_orphans,
        boot,
        first_children,
        has_handles,
        is_living_child,
        open_exit,
        pids,
        process_namespace,
        raw_environment,
        signal_exactly,
        vitals,
    )
else:
    from switchkit.platform.linux.processes import (
        SHOWS_PROCESSES,
        adopt_orphans,
        boot,
        first_children,
        has_handles,
        is_living_child,
        open_exit,
        pids,
        process_namespace,
        raw_environment,
        signal_exactly,
        vitals,
    )

__all__ = [
    "SHOWS_PROCESSES",
    "adopt_orphans",
    "boot",
    "first_children",
    "has_handles",
    "is_living_child",
    "open_exit",
    "pids",
    "process_namespace",
    "raw_environment",
    "signal_exactly",
    "vitals",
]
