"""The supervisor's socket: one thread per request, until nothing is left to look after."""

import _thread
import contextlib
import gc
import os
import selectors
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from switchkit.open_files import raise_file_limit
from switchkit.platform.light import wake_pipe
from switchkit.platform.processes import adopt_orphans
from switchkit.sockets import check_peer_user
from switchyard import __version__
from switchyard.control.protocol import (
    Answer,
    CheckoutRequest,
    DownRequest,
    PingRequest,
    Request,
    UncheckoutRequest,
    UpRequest,
    decode_request,
    encode_answer,
    encode_event,
    encode_fault,
)
from switchyard.core.fault import YardFault
from switchyard.files import disk_trouble
from switchyard.project.home import Home
from switchyard.supervisor.log_limits import LogLimits
from switchyard.supervisor.operations.checkout import checkout, uncheckout
from switchyard.supervisor.operations.renew import watch
from switchyard.supervisor.operations.start import up
from switchyard.supervisor.operations.stop import down
from switchyard.supervisor.yard import Emit, Yard

LINGER_S = 1.0
SOON_S, FIRST_TIDY_S, TIDY_S = 1.0, 4.0, 30.0
LARGEST_REQUEST = 1 << 22
OPEN_FILES = 1 << 16


class RequestServer:
    """Answers requests, one thread each, until nothing is left to look after.

    The main thread accepts connections, reaps children and keeps logs within their limits. It
    never takes a lock that a request holds for long, so it reaps whatever a request waits for.
    """

    def __init__(self, yard: Yard) -> None:
        self._yard = yard
        # Guards `_busy`, the number of requests under way, and nothing else.
        self._lock = threading.Lock()
        self._busy = 0
        self._is_saved = True
        self._logs = LogLimits(yard)
        self._tidy_s = FIRST_TIDY_S
        self._idle_since: float | None = time.monotonic()
        self._selector = selectors.DefaultSelector()
        self._wake_read, self._wake_write = wake_pipe()
        yard.context.wake = self._wake

    def _wake(self) -> None:
        with contextlib.suppress(OSError):
            os.write(self._wake_write, b"x")

    def serve(self, listener: socket.socket) -> None:
        """Run until idle for a while, or told to stop."""
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
            self._is_saved = self._yard.save_again()
            if time.monotonic() - last_tidy >= self._tidy_s:
                last_tidy = time.monotonic()
                # Soon after a change, then ever more rarely: a service that prints little is not
                # worth waking up for.
                soon = self._logs.apply()
                self._tidy_s = SOON_S if soon else min(TIDY_S, self._tidy_s * 2)

    def _pause_s(self) -> float:
        if self._yard.is_idle():
            return LINGER_S / 4
        return self._tidy_s if self._is_saved else LINGER_S

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
        # Not `threading.Thread`, which waits until the new one runs, as does whoever asks.
        try:
            _thread.start_new_thread(self._answer, (connection,))
        except RuntimeError:
            # There is no room for one more thread now; whoever asked sees that nobody answers.
            connection.close()
            with self._lock:
                self._busy -= 1

    def _answer(self, connection: socket.socket) -> None:
        try:
            with connection, connection.makefile("rwb") as stream:
                raw = stream.readline(LARGEST_REQUEST)
                if raw:
                    self._perform(raw, stream.write, stream.flush)
        except OSError:
            pass  # the caller went away; its request is finished anyway
        finally:
            with self._lock:
                self._busy -= 1
                self._tidy_s = FIRST_TIDY_S
            self._wake()

    def _perform(
        self, raw: bytes, write: Callable[[bytes], int], flush: Callable[[], None]
    ) -> None:
        def send(line: bytes) -> None:
            with contextlib.suppress(OSError, ValueError):
                write(line)
                flush()

        try:
            request = decode_request(raw)
            answer = _answer(self._yard, request, lambda event: send(encode_event(event)))
        except YardFault as fault:
            send(encode_fault(fault))
        except OSError as wrong:
            trouble = disk_trouble(wrong, self._yard.scope.home.path)
            told = trouble or f"{type(wrong).__name__}: {wrong}"
            send(encode_fault(YardFault("disk-full" if trouble else "unexpected", told)))
        except Exception as wrong:  # noqa: BLE001 - one bad request must not end the supervisor
            sys.excepthook(type(wrong), wrong, wrong.__traceback__)
            send(encode_fault(YardFault("unexpected", f"{type(wrong).__name__}: {wrong}")))
        else:
            send(encode_answer(answer))


def _answer(yard: Yard, request: Request, emit: Emit) -> Answer:
    match request:
        case UpRequest():
            return up(yard, request, emit)
        case DownRequest():
            return down(yard, request, emit)
        case CheckoutRequest():
            return checkout(yard, request)
        case UncheckoutRequest():
            return uncheckout(yard, request)
        case PingRequest():
            state = yard.relay.state()
            return {
                "version": __version__,
                "pid": os.getpid(),
                "tunnels": state.tunnels,
                "most_tunnels": state.most_tunnels,
                "paused": list(state.paused),
                "faults": state.faults,
                "unsaved": not yard.is_saved,
            }


def serve(home: Home, root: Path, listener: socket.socket) -> None:
    """Look after the project until nothing is left to look after."""
    gc.freeze()
    gc.enable()
    adopt_orphans()
    raise_file_limit(OPEN_FILES)
    threading.stack_size(512 * 1024)
    yard = Yard(root, home)
    yard.adopt()
    watch(yard, [one.launch for one in yard.threads.values()])
    RequestServer(yard).serve(listener)
