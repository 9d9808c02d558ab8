"""Probes whether a service is ready: one probe at a time, each with a short timeout."""

import contextlib
import os
import re
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from switchkit.platform import signal_group
from switchyard.config.shapes import Check
from switchyard.runtime.runs import RunRecord
from switchyard.supervisor.children import Children
from switchyard.supervisor.forwarding.sockets import dial

ANSWER_S = 1.0
COMMAND_S = 10.0
LOG_STEP = 1 << 20
FIRST_POLL_S = 0.002
LAST_POLL_S = 0.05
LATE_POLL_S = 1.0


class ProbeTarget(NamedTuple):
    """What a probe needs to know about its service."""

    host: str
    port: int | None
    log: Path
    log_start: int
    cwd: Path
    env: Mapping[str, str]
    command: tuple[str, ...]


def accepts(host: str, port: int) -> bool:
    """Whether a connection is accepted."""
    try:
        with dial(host, port, ANSWER_S):
            return True
    except OSError:
        return False


def http_status(host: str, port: int, path: str) -> int | None:
    """The status code of a plain GET, or nothing."""
    shown = f"[{host}]" if ":" in host else host
    head = f"GET {path} HTTP/1.1\r\nHost: {shown}:{port}\r\nConnection: close\r\n\r\n"
    try:
        with dial(host, port, ANSWER_S) as asked:
            asked.sendall(head.encode("ascii", "replace"))
            raw = b""
            while b"\r\n" not in raw and len(raw) < 1024:  # noqa: PLR2004 - a status line is short
                part = asked.recv(1024)
                if not part:
                    break
                raw += part
    except OSError:
        return None
    match = re.match(rb"HTTP/1\.[01] (\d{3})", raw)
    return int(match[1]) if match else None


def fits(status: int, wanted: tuple[str, ...]) -> bool:
    """Whether the code is one of `200` or `2xx`."""
    return any(one in (str(status), f"{status // 100}xx") for one in wanted)


class LogSearch:
    """Looks for a pattern in the lines added to a log since the last look."""

    def __init__(self, path: Path, start: int, pattern: str) -> None:
        self._path = path
        self._offset = start
        self._rest = ""
        self._pattern = re.compile(pattern)

    def found(self) -> bool:
        """Whether the pattern has appeared by now."""
        with contextlib.suppress(OSError), self._path.open("rb") as log:
            log.seek(self._offset)
            while raw := log.read(LOG_STEP):
                self._offset += len(raw)
                text = self._rest + raw.decode("utf-8", "replace")
                if self._pattern.search(text):
                    return True
                self._rest = text.rpartition("\n")[2][-4096:]
        return False


def _run_command(children: Children, target: ProbeTarget) -> bool:
    with contextlib.suppress(OSError):
        null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        try:
            pid = children.spawn(target.command, cwd=target.cwd, env=target.env, output=null)
        finally:
            os.close(null)
        code = children.wait(pid, COMMAND_S)
        if code is None:
            signal_group(pid, signal.SIGKILL)
            children.wait(pid, 1.0)
        return code == 0
    return False


def prober(check: Check, target: ProbeTarget, children: Children) -> Callable[[float], bool]:
    """A probe to repeat; it is given how long the service has been up."""
    host, port = target.host, target.port or 0
    if check.kind == "tcp":
        return lambda _: accepts(host, port)
    if check.kind == "http":

        def ask(_: float) -> bool:
            status = http_status(host, port, check.path)
            return status is not None and fits(status, check.statuses)

        return ask
    if check.kind == "log":
        search = LogSearch(target.log, target.log_start, check.pattern)
        return lambda _: search.found()
    if check.kind == "command":
        return lambda _: _run_command(children, target)
    return lambda up_s: up_s >= check.delay_s


class ProbeSchedule:
    """When to look next, and what was seen so far."""

    def __init__(self, ready: Check, live: Check | None, run: RunRecord) -> None:
        self._ready = ready
        self._live = live
        self._began = time.monotonic()
        self._pause_s = FIRST_POLL_S
        self._failures = 0
        self.is_ready = run.ready_at is not None
        self._is_task = run.kind == "task"

    def up_s(self) -> float:
        """How long this watch lasts."""
        return time.monotonic() - self._began

    def wait_ms(self) -> float | None:
        """How long to sleep before the next look; nothing means until something happens."""
        if self._is_task:
            return None
        if self.is_ready:
            return self._live.interval_s * 1000 if self._live else None
        pause_s = self._pause_s
        self._pause_s = LATE_POLL_S if self.is_late() else min(LAST_POLL_S, pause_s * 1.5)
        return max(1.0, pause_s * 1000)

    def is_late(self) -> bool:
        """Whether the time to become ready is over."""
        return self.up_s() > self._ready.timeout_s

    def became_ready(self) -> None:
        """It answers."""
        self.is_ready = True

    def judged(self, *, good: bool) -> int:
        """How many looks in a row have failed."""
        self._failures = 0 if good else self._failures + 1
        return self._failures
