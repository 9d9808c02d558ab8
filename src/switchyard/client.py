"""Talks to the supervisor of a project, and starts it when it is needed."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any

from switchyard.environ import base_environment, caller
from switchyard.fault import Fault, fault_from_json
from switchyard.files import PRIVATE_FILE, is_locked, private_directory
from switchyard.home import Home, ProjectPlaces
from switchyard.registry import Registry

START_S = 10.0
Listen = Callable[[dict[str, Any]], None]
_BOOT = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from switchyard.supervisor.control import main; sys.exit(main(sys.argv[1:]))"
)


def _connect(places: ProjectPlaces) -> socket.socket | None:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(str(places.socket))
    except OSError:
        connection.close()
        return None
    if peer_uid(connection) != os.getuid():
        connection.close()
        raise Fault("foreign-socket", f"{places.socket} belongs to another user")
    return connection


def peer_uid(connection: socket.socket) -> int:
    """Who is at the other end, as the kernel says."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int.from_bytes(raw[4:8], sys.byteorder)


def _start(home: Home, root: Path, places: ProjectPlaces) -> None:
    private_directory(places.folder)
    log = os.open(
        places.supervisor_log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, PRIVATE_FILE
    )
    package_parent = str(Path(__file__).resolve().parent.parent)
    command = [sys.executable, "-I", "-S", "-c", _BOOT, package_parent, str(home.path), str(root)]
    try:
        process = subprocess.Popen(
            ["/bin/sh", "-c", '"$@" & exit 0', "sh", *command],
            cwd="/",
            env=base_environment(caller()),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        process.wait()
    finally:
        os.close(log)


@contextlib.contextmanager
def _connected(home: Home, root: Path) -> Generator[socket.socket]:
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
    with connection:
        yield connection


def ask(
    home: Home, root: Path, request: Mapping[str, Any], listen: Listen | None = None
) -> dict[str, Any]:
    """Have the supervisor do something, and wait until it is done.

    Raises `Fault` with the supervisor's own words when it fails.
    """
    for _ in range(3):
        with _connected(home, root) as connection, connection.makefile("rwb") as stream:
            try:
                stream.write(json.dumps(dict(request)).encode() + b"\n")
                stream.flush()
                answer = _answer(stream, listen)
            except (BrokenPipeError, ConnectionResetError):
                answer = None
        if answer is not None:
            return answer
    raise Fault("no-supervisor", "the supervisor went away while it was asked")


def _answer(stream: Any, listen: Listen | None) -> dict[str, Any] | None:
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
