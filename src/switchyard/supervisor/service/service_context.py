"""What the service threads of one supervisor share."""

import errno
import os
import threading
from collections.abc import Callable, Sequence

from switchyard.runtime.runs import RunBook, RunRecord
from switchyard.supervisor.children import Children
from switchyard.supervisor.log_clock import LogClock
from switchyard.supervisor.service.held_command import held_command


class ServiceContext:
    """What all service threads share."""

    def __init__(self, children: Children, book: RunBook) -> None:
        self.children = children
        self.book = book
        # Guards the phases of all service threads, and is notified at each change of one.
        self.changed = threading.Condition()
        # Makes the main thread look at what is to be done; set before the first service starts.
        self.wake: Callable[[], None] = lambda: None
        self.log_clock = LogClock()
        # Written by a request thread, read at the next start of a service: two plain numbers.
        self.max_log_bytes = 10_000_000
        self.keep_logs = 3

    def command_of(self, run: RunRecord, *, tty: bool) -> Sequence[str]:
        """What is started for a run: its command, or what holds a terminal for it."""
        if not tty:
            return run.command
        if not os.access(run.command[0], os.X_OK):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), run.command[0])
        return held_command(run.command, self.book.places.terminal(run.run_id))
