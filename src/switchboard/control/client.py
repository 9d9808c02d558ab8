"""Commands to a running daemon. No event loop, so that an answer takes milliseconds."""

import contextlib
import os
import signal
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from switchboard.control.messages import Aside, line_of
from switchboard.control.requests import ControlRequest, EventsRequest, StopRequest
from switchboard.control.status import RunStatus, Stopping
from switchboard.core.faults import Fault, FaultCode
from switchboard.ipc.hello import hello_line
from switchboard.ipc.lines import Gone, Line, connect
from switchboard.ipc.paths import DaemonPlaces
from switchboard.ipc.protocol import BEAT, CONTROL, GREETING_S
from switchboard.wire.frames import MAX_MESSAGE_BYTES
from switchkit.exits import has_ended
from switchkit.files import NotPrivate
from switchkit.sockets import is_abandoned

# Children get a few seconds to end by themselves.
_STOP_S = 15.0

# Reasons of faults: it runs and says nothing, or it runs no longer.
SILENT = "daemon-silent"
ENDED = "daemon-ended"

T = TypeVar("T")


class StoppedDaemon(Struct, frozen=True, kw_only=True):
    """What ended with a daemon."""

    pid: int
    # The runs that were under way, where it could still tell.
    runs: tuple[RunStatus, ...] = ()
    was_killed: bool = False


class DaemonClient:
    """A connection to the daemon of one home."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self.pid = line.pid

    def ask(self, request: ControlRequest) -> dict[str, Any]:
        """The answer to a request, in whatever words. Raises a fault when none comes."""
        say(self._line, request)
        text = self._hear()
        read_aside(text, self.pid)
        return read_answer(text, dict[str, Any], self.pid)

    def answer(self, request: ControlRequest, kind: type[T]) -> T | None:
        """The answer to a request; None when the daemon is too old to know it. Raises a fault."""
        say(self._line, request)
        text = self._hear()
        return None if read_aside(text, self.pid).error else read_answer(text, kind, self.pid)

    def events(self, *, last: int, follow: bool) -> Iterator[dict[str, Any]]:
        """What has happened, and with `follow` what happens, until the daemon ends."""
        say(self._line, EventsRequest(last=last, follow=follow))
        while True:
            try:
                text = self._line.hear(None) if follow else self._hear()
            except Gone:
                return
            if not text:
                return
            event = read_answer(text, dict[str, Any], self.pid)
            if "event" not in event:
                read_aside(text, self.pid)
                return
            yield event

    def stop(self) -> StoppedDaemon:
        """End it, and wait until it has ended. One that does not answer is made to."""
        is_frozen = False
        runs: tuple[RunStatus, ...] = ()
        try:
            say(self._line, StopRequest())
            runs = read_answer(self._hear(), Stopping, self.pid).runs
        except Fault as fault:
            # Else it is ending already.
            is_frozen = fault.reason == SILENT
        if is_frozen or not has_ended(self.pid, _STOP_S):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            has_ended(self.pid, GREETING_S)
            return StoppedDaemon(pid=self.pid, runs=runs, was_killed=True)
        return StoppedDaemon(pid=self.pid, runs=runs)

    def _hear(self) -> str:
        """The next line; one that works on the answer says so."""
        while (text := hear(self._line, GREETING_S, GREETING_S)) == BEAT:
            pass
        return text

    def close(self) -> None:
        self._line.close()


def running_daemon(places: DaemonPlaces) -> DaemonClient | None:
    """The daemon of this home that takes clients, or None when none runs. Raises a fault."""
    return _reached(places.socket, places.home)


def draining_daemons(places: DaemonPlaces) -> list[DaemonClient]:
    """Those that take no more clients and have not ended yet. Raises a fault.

    What killed ones have left behind is removed.
    """
    found = [_reached(path, places.home) for path in places.side_sockets() if not _swept(path)]
    return [client for client in found if client is not None]


def _swept(path: str) -> bool:
    if not is_abandoned(path, DaemonPlaces.side_owner(path)):
        return False
    with contextlib.suppress(OSError):
        os.unlink(path)
    return True


def _reached(socket: str, home: str) -> DaemonClient | None:
    try:
        line = connect(socket, GREETING_S)
        if line is None:
            return None
        line.say(hello_line(CONTROL, home=home))
    except NotPrivate as error:
        raise Fault(
            FaultCode.PERMISSION_DENIED,
            "socket-not-private",
            f"the daemon's socket cannot be trusted: {error}",
        ) from None
    except OSError as error:
        raise Fault(
            FaultCode.UNAVAILABLE, "daemon-unreachable", f"the daemon cannot be reached: {error}"
        ) from None
    return DaemonClient(line)


def say(line: Line, value: Struct) -> None:
    """Send a request, or an answer to a question. Raises a fault."""
    text = line_of(value)
    if len(text) > MAX_MESSAGE_BYTES:
        raise Fault(
            FaultCode.INVALID_ARGUMENT,
            "request-too-large",
            f"the request has {len(text):,} bytes, and the daemon takes {MAX_MESSAGE_BYTES:,}",
        )
    try:
        line.say(text)
    except TimeoutError as error:
        raise _silent(line.pid, GREETING_S) from error
    except OSError as error:
        raise _ended(line.pid) from error


def hear(line: Line, first_s: float, second_s: float) -> str:
    """The next line. Raises a fault.

    A silence counts only twice: a machine that slept woke us first, maybe.
    """
    try:
        try:
            return line.hear(first_s)
        except TimeoutError:
            return line.hear(second_s)
    except TimeoutError as error:
        raise _silent(line.pid, first_s + second_s) from error
    except Gone:
        raise _ended(line.pid) from None


def read_aside(text: str, pid: int) -> Aside:
    """What a line says beside an answer. Raises the fault in it."""
    aside = read_answer(text, Aside, pid)
    if aside.fault is not None:
        raise aside.fault.fault()
    return aside


def read_answer(text: str, kind: type[T], pid: int) -> T:
    """A line as the answer that it should be. Raises a fault."""
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.MsgspecError as error:
        raise Fault(
            FaultCode.UNAVAILABLE,
            "daemon-of-another-version",
            f"the daemon (process {pid}) answers as another version does",
            hint="switchboard daemon restart",
            private=str(error),
        ) from None


def _silent(pid: int, for_s: float) -> Fault:
    return Fault(
        FaultCode.UNAVAILABLE,
        SILENT,
        f"the daemon (process {pid}) does not answer within {for_s:g} s",
        hint="switchboard daemon restart",
    )


def _ended(pid: int) -> Fault:
    return Fault(
        FaultCode.UNAVAILABLE,
        ENDED,
        f"the daemon (process {pid}) has ended",
        hint="switchboard daemon logs",
    )
