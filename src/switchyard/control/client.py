"""Talks to the supervisor of a project, and starts it when it is needed."""

import _socket  # `socket` and `subprocess` would take longer to load than a warm answer takes
import contextlib
import os
import sys
import time
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import TypeVar

from switchkit.daemons import start_detached
from switchkit.files import NotPrivate, make_private_folder, open_log
from switchkit.locks import is_locked
from switchkit.sockets import check_peer_user, connect
from switchyard.control.protocol import (
    PhaseEvent,
    PingAnswer,
    PingRequest,
    Request,
    decode_answer,
    decode_message,
    encode_request,
)
from switchyard.core.environ import base_environment, caller
from switchyard.core.fault import YardFault
from switchyard.project.home import Home, ProjectPlaces, check_disk
from switchyard.project.registry import Registry

START_S = 10.0
PING_S = 5.0
# A request that is silent for so long may wait for a service, or for a supervisor that is hung.
QUIET_S = 5.0
Listen = Callable[[PhaseEvent], None]
A = TypeVar("A")
_SIGTERM, _SIGKILL = 15, 9  # `signal` would be loaded for these numbers alone
_BOOT = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); import switchyard.core.fast_import; "
    "from switchyard.supervisor.main import main; sys.exit(main(sys.argv[1:]))"
)


def _connect(places: ProjectPlaces) -> _socket.socket | None:
    try:
        return connect(str(places.socket))
    except NotPrivate as foreign:
        raise YardFault("foreign-socket", f"{places.socket} is not used: {foreign}") from None
    except OSError:
        return None


def _start(home: Home, root: Path, places: ProjectPlaces) -> None:
    check_disk(home)
    make_private_folder(places.folder)
    package_parent = str(Path(__file__).resolve().parents[2])
    command = [sys.executable, "-I", "-S", "-c", _BOOT, package_parent, str(home.path), str(root)]
    log = open_log(places.supervisor_log)
    try:
        start_detached(command, base_environment(caller()), log=log)
    finally:
        os.close(log)


@contextlib.contextmanager
def _connection(home: Home, root: Path) -> Generator[_socket.socket]:
    places = Registry(home).places(root)
    until, pause_s, started_at = time.monotonic() + START_S, 0.001, 0.0
    while (connection := _connect(places)) is None:
        now = time.monotonic()
        if now > until:
            raise YardFault(
                "no-supervisor",
                "the supervisor of this project does not answer",
                hint=f"see {places.supervisor_log}",
            )
        if not is_locked(places.supervisor_lock) and now - started_at > 1.0:
            _start(home, root, places)
            started_at = now
        time.sleep(pause_s)
        pause_s = min(0.01, pause_s * 1.3)
    with contextlib.closing(connection):
        yield connection


def ask(
    home: Home, root: Path, request: Request, answer: type[A], listen: Listen | None = None
) -> A:
    """Send the supervisor a request and wait for the result.

    Raises `YardFault` with the supervisor's own words when it fails.
    """
    for _ in range(3):
        with _connection(home, root) as connection:
            try:
                connection.sendall(encode_request(request))
                result = _result(_lines(connection, home, root), listen)
            except (BrokenPipeError, ConnectionResetError):
                result = None
            except _Hung:
                # Nothing that it looks after is interrupted, and what it was asked is not done
                # behind our back when it wakes up.
                _replace(connection, Registry(home).places(root), _SIGKILL)
                continue
            except YardFault as fault:
                if not _is_outdated(fault):
                    raise
                _replace(connection, Registry(home).places(root))
                continue
        if result is not None:
            return decode_answer(answer, result)
    raise YardFault("no-supervisor", "the supervisor went away during the request")


class _Hung(Exception):
    """The supervisor lives and does nothing."""


def _lines(connection: _socket.socket, home: Home, root: Path) -> Generator[bytes]:
    """The lines that the supervisor sends. Raises `_Hung` when it answers nobody any more."""
    connection.settimeout(QUIET_S)
    raw = b""
    while True:
        try:
            part = connection.recv(1 << 16)
        except TimeoutError:
            if not _answers(home, root):
                raise _Hung from None
            continue
        if not part:
            return
        *lines, raw = (raw + part).split(b"\n")
        yield from lines


def _answers(home: Home, root: Path) -> bool:
    """Whether the supervisor says anything at all; a slow request is no reason to doubt it."""
    try:
        Ping(Registry(home).places(root)).answer()
    except YardFault:
        return False
    return True


class Ping:
    """A living supervisor is asked how it is doing; whoever asks may do other things meanwhile.

    Starts none.
    """

    def __init__(self, places: ProjectPlaces) -> None:
        self._connection = _connect(places)
        if self._connection:
            self._connection.settimeout(PING_S)
            # One that is gone by now is told by its answer.
            with contextlib.suppress(OSError):
                self._connection.sendall(encode_request(PingRequest()))

    def answer(self) -> PingAnswer | None:
        """What it says; nothing when it is too old to be asked. Raises `YardFault` without one."""
        if self._connection is None:
            raise YardFault("no-supervisor", "the supervisor of this project does not answer")
        raw = b""
        with contextlib.closing(self._connection), contextlib.suppress(OSError):
            while not raw.endswith(b"\n") and (part := self._connection.recv(65536)):
                raw += part
        if not raw.endswith(b"\n"):
            told = f"the supervisor of this project has not answered for {PING_S:.0f} seconds"
            raise YardFault("no-supervisor", told)
        try:
            return decode_answer(PingAnswer, decode_message(raw)[0])
        except YardFault:
            return None


def _result(stream: Iterable[bytes], listen: Listen | None) -> object | None:
    """The supervisor's answer; nothing when it ended before it began to work."""
    heard = False
    for raw in stream:
        result, phase = decode_message(raw)
        if result is not None:
            return result
        heard = True
        if phase and listen:
            listen(phase)
    if heard:
        raise YardFault("no-supervisor", "the supervisor was killed during the request")
    return None


def _is_outdated(fault: YardFault) -> bool:
    """Whether an upgrade removed code that this supervisor had not loaded yet.

    Supervisors of version 0.1.0 load the code for some requests on first use.
    """
    lacks = "ModuleNotFoundError: No module named 'switchyard."
    return fault.code == "unexpected" and fault.message.startswith(lacks)


def _replace(connection: _socket.socket, places: ProjectPlaces, number: int = _SIGTERM) -> None:
    """End the supervisor; the next one takes over what it started, and nothing is interrupted."""
    os.kill(check_peer_user(connection), number)
    until = time.monotonic() + START_S
    while is_locked(places.supervisor_lock) and time.monotonic() < until:
        time.sleep(0.01)
