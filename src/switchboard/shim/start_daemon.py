"""Starting the daemon, once, however many shims want it at the same time."""

# No pathlib: a client waits for this program to start.

import os
import sys
from select import POLLIN, poll
from time import monotonic

from switchboard.ipc.environment import daemon_environment
from switchboard.ipc.lines import CannotStart, Line, connect
from switchboard.ipc.paths import MAX_LOG_BYTES, DaemonPlaces
from switchboard.ipc.protocol import GREETING_S, READY_VARIABLE, START_S
from switchkit.daemons import READY_FILE, start_detached
from switchkit.files import make_folder, open_log, rotate
from switchkit.locks import is_locked, open_lock, try_lock

# Somebody else's start sends us no event, so we look again.
_LOOK_AGAIN_MS = 15
_SHOWN_BYTES = 2_000
_SHOWN_LINES = 8


def start_daemon(places: DaemonPlaces, environ: "dict[str, str]") -> Line:
    """A connection to a daemon that is started now, by us or by somebody else.

    Raises `CannotStart` with the reason, and what `connect` raises.
    """
    line: Line | None = None
    deadline = monotonic() + START_S
    lock = open_lock(places.start_lock)
    try:
        tried = False
        while line is None:
            is_ours = not tried and try_lock(lock)
            # Whoever held the lock before may have started one.
            line = connect(places.socket, GREETING_S)
            # One that lives and does not answer has too many at its door, or is about to end.
            if line is None and is_ours and not is_locked(places.life_lock):
                tried = True
                _start_or_join(places, environ, deadline)
                continue
            if line is None:
                if monotonic() > deadline:
                    raise CannotStart(f"no daemon listened within {START_S:g} s")
                poll().poll(_LOOK_AGAIN_MS)
        return line
    finally:
        os.close(lock)


def _start_or_join(places: DaemonPlaces, environ: "dict[str, str]", deadline: float) -> None:
    try:
        _start(places, environ, deadline)
    except CannotStart:
        # Another shim may have begun a start and ended since: what it started does not listen yet.
        lock = open_lock(places.life_lock)
        try:
            if try_lock(lock):
                raise
        finally:
            os.close(lock)


def _start(places: DaemonPlaces, environ: "dict[str, str]", deadline: float) -> None:
    log = _open_log(places.log)
    began = os.fstat(log).st_size
    hearing, telling = os.pipe()
    try:
        command = [sys.executable, "-P", "-m", "switchboard", "daemon", "run"]
        environ = daemon_environment(environ, places.home)
        environ[READY_VARIABLE] = str(READY_FILE)
        start_detached(command, environ, log=log, ready=telling)
        os.close(telling)
        told = _told(hearing, deadline)
    finally:
        os.close(hearing)
        os.close(log)
    if told != b"ready":
        why = told.decode("utf-8", "replace") or last_words(places.log, began)
        raise CannotStart(why or f"it did not start within {START_S:g} s")


def _open_log(path: str) -> int:
    try:
        make_folder(os.path.dirname(path))
        rotate(path, MAX_LOG_BYTES)
        return open_log(path)
    except OSError as error:
        raise CannotStart(f"its log `{path}` cannot be opened ({error.strerror})") from None


def _told(hearing: int, deadline: float) -> bytes:
    """What the daemon says when it listens; nothing when it ends or takes too long."""
    said = b""
    waiting = poll()
    waiting.register(hearing, POLLIN)
    while waiting.poll(max(0.0, deadline - monotonic()) * 1000):
        data = os.read(hearing, 65536)
        if not data:
            break
        said += data
        if said.endswith(b"\n"):
            return said.strip()
    return b""


def last_words(path: str, began: int = 0) -> str:
    """The end of a log, from where it began on."""
    try:
        with open(path, "rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(began, file.tell() - _SHOWN_BYTES))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    return "\n".join(text.strip().splitlines()[-_SHOWN_LINES:])
