"""Commands to a running daemon. No event loop, so that an answer takes milliseconds."""

import contextlib
import json
import os
import signal
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from switchboard.control.messages import Aside, line_of
from switchboard.control.requests import ControlRequest
from switchboard.core.faults import Fault, FaultCode
from switchboard.ipc.hello import hello_line
from switchboard.ipc.lines import Gone, Line, connect
from switchboard.ipc.paths import DaemonPlaces
from switchboard.ipc.protocol import CONTROL, GREETING_S
from switchkit.exits import has_ended
from switchkit.files import NotPrivate
from switchkit.sockets import is_abandoned

# Children get a few seconds to end by themselves.
_STOP_S = 15.0

T = TypeVar("T", bound=Struct)

_read_aside = msgspec.json.Decoder(Aside).decode


class DaemonClient:
    """A connection to the daemon of one home."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self.pid = line.pid

    def ask(self, do: str, **more: Any) -> dict[str, Any]:
        """The answer to one order. Raises a fault when none comes."""
        self._order(do, **more)
        return json.loads(self._hear(GREETING_S))

    def answer(self, request: ControlRequest, kind: type[T]) -> T | None:
        """The answer to a request; None when the daemon is too old to know it. Raises a fault."""
        try:
            self._line.say(line_of(request))
        except OSError as error:
            raise silent(self.pid) from error
        text = self._hear(GREETING_S)
        aside = _read_aside(text)
        if aside.fault is not None:
            raise aside.fault.fault()
        return None if aside.error else msgspec.json.decode(text, type=kind)

    def events(self, *, last: int, follow: bool) -> Iterator[dict[str, Any]]:
        """What has happened, and with `follow` what happens, until the daemon ends."""
        self._order("events", last=last, follow=follow)
        while True:
            try:
                text = self._line.hear(None if follow else GREETING_S)
            except (Gone, TimeoutError):
                return
            if not text:
                return
            yield json.loads(text)

    def stop(self) -> None:
        """End it, and wait until it has ended. One that does not answer is made to."""
        is_frozen = False
        try:
            self._line.say(json.dumps({"do": "stop"}).encode() + b"\n")
            self._line.hear(GREETING_S)
        except TimeoutError:
            is_frozen = True
        except (Gone, OSError):
            # It is ending already.
            is_frozen = False
        if is_frozen or not has_ended(self.pid, _STOP_S):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            has_ended(self.pid, GREETING_S)

    def _order(self, do: str, **more: Any) -> None:
        try:
            self._line.say(json.dumps({"do": do, **more}).encode() + b"\n")
        except OSError as error:
            raise silent(self.pid) from error

    def _hear(self, timeout_s: float) -> str:
        try:
            return self._line.hear(timeout_s)
        except (Gone, TimeoutError) as error:
            raise silent(self.pid) from error

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
    if not is_abandoned(path):
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


def silent(pid: int) -> Fault:
    """The daemon runs, and does not answer."""
    return Fault(
        FaultCode.UNAVAILABLE,
        "daemon-silent",
        f"the daemon (process {pid}) does not answer within {GREETING_S:g} s",
        hint="switchboard daemon restart",
    )
