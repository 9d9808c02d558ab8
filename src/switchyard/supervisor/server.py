"""What the supervisor does with its socket: requests, one thread each, until nothing is left."""

import contextlib
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from switchkit.platform.light import wake_pipe
from switchkit.platform.system import adopt_orphans
from switchkit.sockets import check_peer_user
from switchyard.core.fault import Fault
from switchyard.project.home import Home
from switchyard.supervisor.operations.start import up
from switchyard.supervisor.yard import Emit, Yard

LINGER_S = 1.0
TIDY_S = 30.0
LARGEST_REQUEST = 1 << 22

Operation = Callable[[Yard, Mapping[str, Any], Emit], dict[str, Any]]


def _ping(yard: Yard, _: Mapping[str, Any], __: Emit) -> dict[str, Any]:
    kept = [list(key) for key, one in yard.keepers.items() if one.is_alive]
    return {"pid": os.getpid(), "kept": kept, "names_port": yard.names_port}


def _later(module: str, name: str) -> Operation:
    """An operation that no first start has to wait for."""

    def operation(yard: Yard, request: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
        there = importlib.import_module(f"switchyard.supervisor.{module}")
        found: Operation = getattr(there, name)
        return found(yard, request, emit)

    return operation


OPERATIONS: dict[str, Operation] = {
    "ping": _ping,
    "up": up,
    "down": _later("operations.stop", "down"),
    "checkout": _later("operations.checkout", "checkout"),
    "uncheckout": _later("operations.checkout", "uncheckout"),
}


class Control:
    """Answers requests, one thread each, until nothing is left to look after."""

    def __init__(self, yard: Yard) -> None:
        self._yard = yard
        self._busy = 0
        self._lock = threading.Lock()
        self._idle_since: float | None = time.monotonic()
        self._selector = selectors.DefaultSelector()
        self._wake_read, self._wake_write = wake_pipe()

    def serve(self, listener: socket.socket) -> None:
        """Run until idle for a while, or told to end."""
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        # Handlers, never SIG_IGN: what is ignored here would be ignored in every service.
        ended = threading.Event()

        def note(number: int, _: object) -> None:
            if number in (signal.SIGTERM, signal.SIGINT):
                ended.set()

        for number in (signal.SIGCHLD, signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
            signal.signal(number, note)
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)
        self._selector.register(listener, selectors.EVENT_READ, listener)
        self._selector.register(self._wake_read, selectors.EVENT_READ, None)
        last_tidy = time.monotonic()
        while not ended.is_set() and not self._is_over():
            for key, _ in self._selector.select(self._pause_s()):
                if key.data is None:
                    with contextlib.suppress(BlockingIOError):
                        os.read(self._wake_read, 4096)
                else:
                    self._accept(listener)
            self._yard.children.reap()
            if time.monotonic() - last_tidy >= TIDY_S:
                last_tidy = time.monotonic()
                importlib.import_module("switchyard.supervisor.log_limits").tidy_logs(self._yard)

    def _pause_s(self) -> float:
        return LINGER_S / 4 if self._yard.is_idle() else TIDY_S

    def _is_over(self) -> bool:
        with self._lock:
            idle = not self._busy and self._yard.is_idle()
        if not idle:
            self._idle_since = None
            return False
        self._idle_since = self._idle_since or time.monotonic()
        return time.monotonic() - self._idle_since > LINGER_S

    def _accept(self, listener: socket.socket) -> None:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        try:
            check_peer_user(connection)
        except OSError:
            connection.close()
            return
        with self._lock:
            self._busy += 1
        connection.setblocking(True)
        threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        try:
            with connection, connection.makefile("rwb") as stream:
                raw = stream.readline(LARGEST_REQUEST)
                if raw:
                    self._perform(raw, stream.write, stream.flush)
        except OSError:
            pass  # the caller went away; what it asked for is done all the same
        finally:
            with self._lock:
                self._busy -= 1
            with contextlib.suppress(OSError):
                os.write(self._wake_write, b"x")

    def _perform(
        self, raw: bytes, write: Callable[[bytes], int], flush: Callable[[], None]
    ) -> None:
        def emit(message: dict[str, Any]) -> None:
            with contextlib.suppress(OSError, ValueError):
                write(json.dumps(message).encode() + b"\n")
                flush()

        try:
            request: dict[str, Any] = json.loads(raw)
            result = OPERATIONS[str(request["operation"])](self._yard, request, emit)
        except Fault as fault:
            emit({"error": {**fault.as_json(), "exit_code": fault.exit_code}})
        except Exception as wrong:  # noqa: BLE001 - one bad request must not end the supervisor
            sys.excepthook(type(wrong), wrong, wrong.__traceback__)
            emit({"error": {"code": "unexpected", "message": f"{type(wrong).__name__}: {wrong}"}})
        else:
            emit({"result": result})


def serve(home: Home, root: Path, listener: socket.socket) -> None:
    """Look after the project until nothing is left to look after."""
    gc.freeze()
    gc.enable()
    adopt_orphans()
    threading.stack_size(512 * 1024)
    yard = Yard(root, home)
    yard.adopt()
    Control(yard).serve(listener)
