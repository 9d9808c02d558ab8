"""The verb `attach`: the terminal of a running service, until a key detaches from it."""

import os
import select
import signal
import sys
import termios
import tty
from types import FrameType
from typing import Any

from switchkit.sockets import connect
from switchyard.cli.arguments import YardArguments, usage_fault
from switchyard.cli.report import YardReport, say
from switchyard.control.terminal_frames import KEYS, frame, size_frame
from switchyard.core.fault import YardFault
from switchyard.project.home import default_home
from switchyard.project.scope import locate
from switchyard.queries.services import where

_DETACH = b"\x1d"
_DETACH_KEY = "Ctrl-]"


def _connected(path: str) -> Any:
    try:
        return connect(path)
    except OSError:
        return None


def _window(number: int) -> bytes:
    size = os.get_terminal_size(number)
    return size_frame(size.lines, size.columns)


def _converse(connection: Any, number: int) -> bool:
    """Pass keys one way and output the other; whether a key ended it."""
    connection.sendall(_window(number))
    while True:
        ready, _, _ = select.select([number, connection], [], [])
        if connection in ready:
            data = connection.recv(1 << 16)
            if not data:
                return False
            os.write(sys.stdout.fileno(), data)
        if number in ready:
            keys = os.read(number, 4096)
            before, found, _ = keys.partition(_DETACH)
            if before:
                connection.sendall(frame(KEYS, before))
            if found or not keys:
                return True


def run(arguments: YardArguments) -> YardReport:
    """Attach to the terminal of a service."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise usage_fault("`attach` needs a terminal", "attach")
    scope = locate(arguments.cwd, default_home())
    name = arguments.words[0]
    found = where(scope, name, arguments.branch)["service"]
    if found["status"] != "running":
        raise YardFault("not-running", f"`{name}` is not running", hint="switchyard up")
    connection = _connected(str(scope.places.terminal(found.get("run_id", ""))))
    if connection is None:
        raise YardFault(
            "no-terminal",
            f"`{name}` has no terminal",
            hint=f"add `tty = true` to [services.{name}], then run `switchyard up --recreate`",
        )
    say(f"attached to {name} of {found.get('branch')}; {_DETACH_KEY} detaches")
    number = sys.stdin.fileno()
    before = termios.tcgetattr(number)

    def resized(_: int, __: FrameType | None) -> None:
        connection.sendall(_window(number))

    signal.signal(signal.SIGWINCH, resized)
    try:
        # Without throwing away what was typed since it was said how to detach.
        tty.setraw(number, termios.TCSADRAIN)
        detached = _converse(connection, number)
    except ConnectionError:
        detached = False
    finally:
        termios.tcsetattr(number, termios.TCSADRAIN, before)
        connection.close()
    told = f"detached from {name}, which goes on" if detached else f"{name} has ended"
    return YardReport("attach", {"service": name, "detached": detached}, ["", told])
