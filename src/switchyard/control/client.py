"""Talks to the supervisor of a project, and starts it when it is needed."""

import _socket  # `socket` and `subprocess` would take longer to load than a warm answer takes
import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from pathlib import Path
from typing import Any

from switchkit.daemons import start_detached
from switchkit.files import NotPrivate, make_private_folder, open_log
from switchkit.locks import is_locked
from switchkit.sockets import connect
from switchyard.core.environ import base_environment, caller
from switchyard.core.fault import Fault, fault_from_json
from switchyard.project.home import Home, ProjectPlaces
from switchyard.project.registry import Registry

START_S = 10.0
Listen = Callable[[dict[str, Any]], None]
_BOOT = (
    "import gc, sys; gc.disable(); sys.path.insert(0, sys.argv.pop(1)); "
    "from switchyard.supervisor.main import main; sys.exit(main(sys.argv[1:]))"
)


def _connect(places: ProjectPlaces) -> _socket.socket | None:
    try:
        return connect(str(places.socket))
    except NotPrivate as foreign:
        raise Fault("foreign-socket", f"{places.socket} is not used: {foreign}") from None
    except OSError:
        return None


def _start(home: Home, root: Path, places: ProjectPlaces) -> None:
    make_private_folder(places.folder)
    package_parent = str(Path(__file__).resolve().parents[2])
    command = [sys.executable, "-I", "-S", "-c", _BOOT, package_parent, str(home.path), str(root)]
    log = open_log(places.supervisor_log)
    try:
        start_detached(command, base_environment(caller()), log=log)
    finally:
        os.close(log)


@contextlib.contextmanager
def _connected(home: Home, root: Path) -> Generator[_socket.socket]:
    places = Registry(home).places(root)
    until, pause_s, started_at = time.monotonic() + START_S, 0.001, 0.0
    while (connection := _connect(places)) is None:
        now = time.monotonic()
        if now > until:
            raise Fault(
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
    home: Home, root: Path, request: Mapping[str, Any], listen: Listen | None = None
) -> dict[str, Any]:
    """Have the supervisor do something, and wait until it is done.

    Raises `Fault` with the supervisor's own words when it fails.
    """
    for _ in range(3):
        with _connected(home, root) as connection:
            try:
                connection.sendall(json.dumps(dict(request)).encode() + b"\n")
                with os.fdopen(os.dup(connection.fileno()), "rb") as stream:
                    answer = _answer(stream, listen)
            except (BrokenPipeError, ConnectionResetError):
                answer = None
        if answer is not None:
            return answer
    raise Fault("no-supervisor", "the supervisor went away while it was asked")


def _answer(stream: Iterable[bytes], listen: Listen | None) -> dict[str, Any] | None:
    heard = False
    for raw in stream:
        message: dict[str, Any] = json.loads(raw)
        if "result" in message:
            return message["result"]
        if "error" in message:
            raise fault_from_json(message["error"])
        heard = True
        if listen:
            listen(message)
    if heard:
        raise Fault("no-supervisor", "the supervisor was killed while it worked")
    return None
