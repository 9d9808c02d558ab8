"""The parent of one program, with which everything ends that came of it, wherever it went.

`keeper LIFELINE ORDERS [SILENCE]` takes two open files; the second says what to run. On Linux it
becomes the parent of each descendant whose own parent has ended, so nobody below it gets out of its
sight by a session of its own, by forking twice or by another environment. It ends all of them, and
then itself, once the program has ended or the lifeline, a pipe, is closed at its other end: by its
owner, or by the kernel when that was killed. With a third word it does the same when nothing was
written to the lifeline for so many seconds. Elsewhere those who left both their parent and its
session get away. Light: an engine starts through it.
"""

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from select import POLLIN, poll
from time import monotonic

from switchkit.platform import signal_group
from switchkit.platform.light import inheritable_files
from switchkit.platform.processes import SHOWS_PROCESSES, adopt_orphans, signal_exactly
from switchkit.processes import ProcessTable

# How long everybody may take to end by itself once the owner is gone, and to be ended.
_GRACE_S = 0.5
_KILL_S = 5.0
_STEP_MS = 20
# Meant for the program, which gets them as well.
_PASSED_BY = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGTSTP)
# Between the name of a program that the system does not start, and why.
CANNOT_START = " cannot be started: "
_STATUS_NOT_STARTED = 127


def orders(program: str, argv: "Sequence[str]", env: "Mapping[str, str]") -> bytes:
    """What a keeper reads: the file of the program, its command line and its environment."""
    pairs = (f"{name}={value}" for name, value in env.items())
    words = (program, str(len(argv)), *argv, *pairs)
    return b"".join(os.fsencode(word) + b"\0" for word in words)


class _Orders:
    def __init__(self, data: bytes) -> None:
        self.program, count, *words = data.split(b"\0")[:-1]
        self.argv = words[: int(count)]
        pairs = (word.partition(b"=") for word in words[int(count) :])
        self.env = {name: value for name, _, value in pairs}


class Keeper:
    """One program and all that comes of it."""

    def __init__(self, lifeline: int, silence_s: float = 0.0) -> None:
        """With `silence_s` the owner has to write to the lifeline more often than that."""
        os.set_inheritable(lifeline, False)
        self._lifeline = lifeline
        self._silence_s = silence_s
        self._heard_at = monotonic()
        self._told, telling = os.pipe()
        for each in (self._told, telling):
            os.set_blocking(each, False)
        # Python's own handlers end with exec: the program has none of them.
        for number in (*_PASSED_BY, signal.SIGCHLD):
            signal.signal(number, _nothing)
        signal.set_wakeup_fd(telling, warn_on_full_buffer=False)
        self._program = 0
        self._status = 0
        adopt_orphans()

    def keep(self, ordering: int) -> int:
        """Run a program to its end and give its status, as `waitpid` tells it."""
        with open(ordering, "rb") as file:
            data = file.read()
        if self._is_let_go():
            # Whoever wanted it is gone already, and may not have said all of it.
            return self._status
        self._program = _started(_Orders(data))
        if self._is_left():
            self._ask_to_end()
        self._kill_rest()
        return self._status

    def _is_left(self) -> bool:
        """Wait for the end of the program, or of whoever wants it. Says whether it was the owner's.

        An owner that was stopped, and says nothing any more, is as good as gone.
        """
        waiting = poll()
        waiting.register(self._lifeline, POLLIN)
        waiting.register(self._told, POLLIN)
        while self._reap() and self._program:
            waiting.poll(self._left_ms())
            if self._is_let_go():
                return True
            self._drain()
        return False

    def _left_ms(self) -> float | None:
        """How long the owner may say nothing from now on."""
        if not self._silence_s:
            return None
        return max(self._heard_at + self._silence_s - monotonic(), 0.0) * 1000

    def _is_let_go(self) -> bool:
        """Whether the owner is gone, or has been silent for too long."""
        if _is_readable(self._lifeline):
            if not os.read(self._lifeline, 4096):
                return True
            self._heard_at = monotonic()
        return bool(self._silence_s) and monotonic() >= self._heard_at + self._silence_s

    def _reap(self) -> bool:
        """Take in who has ended. Says whether anybody is left."""
        try:
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                if found[0] == self._program:
                    self._program, self._status = 0, found[1]
        except ChildProcessError:
            return False
        return True

    def _ask_to_end(self) -> None:
        _send(signal.SIGTERM)
        _send(signal.SIGCONT)
        self._until_nobody(_GRACE_S)

    def _kill_rest(self) -> None:
        """End everybody. Whoever loses its parent by that becomes our child, so none is missed."""
        until = monotonic() + _KILL_S
        while self._reap() and monotonic() < until:
            _send(signal.SIGKILL)
            self._until_nobody(_STEP_MS / 1000)

    def _until_nobody(self, within_s: float) -> None:
        waiting = poll()
        waiting.register(self._told, POLLIN)
        until = monotonic() + within_s
        while self._reap() and (left_s := until - monotonic()) > 0:
            waiting.poll(left_s * 1000)
            self._drain()

    def _drain(self) -> None:
        try:
            os.read(self._told, 4096)
        except BlockingIOError:
            return


def _is_readable(stream: int) -> bool:
    waiting = poll()
    waiting.register(stream, POLLIN)
    return bool(waiting.poll(0))


def _nothing(*_: object) -> None:
    """It is enough that we are told."""


def _started(wanted: _Orders) -> int:
    program = os.fork()
    if program == 0:
        try:
            # Python ignores these, and what is ignored stays so in the program.
            for number in (signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
            os.execve(wanted.program, wanted.argv, wanted.env)  # noqa: S606 - what it is for
        except OSError as error:
            os.write(2, wanted.program + f"{CANNOT_START}{error.strerror}\n".encode())
        finally:
            os._exit(_STATUS_NOT_STARTED)
    # The streams are the program's: they have to end with it.
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    os.close(nowhere)
    # What it is handed besides is for the program alone.
    for number in inheritable_files():
        os.close(number)
    return program


def _send(number: int) -> None:
    """Signal everybody below us."""
    if not SHOWS_PROCESSES:
        signal_group(0, number)
        return
    own = os.getpid()
    table = ProcessTable()
    below = table.children(own)
    if os.getsid(0) == own:
        # Where orphans are not ours to adopt they are known by the session that we lead.
        below += table.by_session.get(own, ())
    seen = {own}
    while below:
        pid = below.pop()
        if pid not in seen:
            seen.add(pid)
            below += table.children(pid)
            signal_exactly(pid, table.processes[pid].began, number)


def main() -> None:
    """Keep a program, and end as it ended."""
    lifeline, ordering, *silence = sys.argv[1:]
    status = Keeper(int(lifeline), *map(float, silence)).keep(int(ordering))
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status))
