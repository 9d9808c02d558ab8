"""Starting the daemon, once, however many shims want it at the same time."""

# No pathlib: a client waits for this program to start.
# ruff: noqa: PTH103, PTH105, PTH110, PTH116, PTH120, PTH123, PTH208

import os
import sys
from fcntl import F_DUPFD, LOCK_EX, LOCK_NB, fcntl, flock
from select import POLLIN, poll
from time import monotonic

from switchboard.ipc.environment import daemon_environment
from switchboard.ipc.lines import Line, connect
from switchboard.ipc.paths import MAX_LOG_BYTES, DaemonPlaces
from switchboard.ipc.words import GREETING_S, READY_VARIABLE, START_S

# The daemon says on this descriptor that it listens, or why it cannot.
_READY_FD = 3
_OWN_FILES = "/dev/fd"
# Somebody else's start sends us no event, so we look again.
_LOOK_AGAIN_MS = 15
_SHOWN_BYTES = 2_000
_SHOWN_LINES = 8


class CannotStart(Exception):  # noqa: N818 - states what is
    """There is no daemon, and none can be started."""


def reach(places: DaemonPlaces, environ: "dict[str, str]") -> Line:
    """A connection to the daemon, started if need be.

    Raises `CannotStart` with the reason, and what `connect` raises.
    """
    line = connect(places.socket, GREETING_S)
    if line is not None:
        return line
    deadline = monotonic() + START_S
    lock = os.open(places.start_lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        tried = False
        while line is None:
            if not tried and _is_locked(lock):
                # Whoever held the lock before may have started one.
                line = connect(places.socket, GREETING_S)
                if line is None:
                    tried = True
                    _start(places, environ, deadline)
                continue
            line = connect(places.socket, GREETING_S)
            if line is None:
                if monotonic() > deadline:
                    raise CannotStart(f"no daemon listened within {START_S:g} s")
                poll().poll(_LOOK_AGAIN_MS)
        return line
    finally:
        os.close(lock)


def _is_locked(lock: int) -> bool:
    try:
        flock(lock, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _start(places: DaemonPlaces, environ: "dict[str, str]", deadline: float) -> None:
    log = _open_log(places.log)
    began = os.fstat(log).st_size
    hearing, telling = os.pipe()
    try:
        _fork(log, telling, daemon_environment(environ, places.home))
        os.close(telling)
        told = _told(hearing, deadline)
    finally:
        os.close(hearing)
        os.close(log)
    if told != b"ready":
        why = told.decode("utf-8", "replace") or last_words(places.log, began)
        raise CannotStart(why or f"it did not start within {START_S:g} s")


def _open_log(path: str) -> int:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        if os.path.exists(path) and os.stat(path).st_size > MAX_LOG_BYTES:
            os.replace(path, f"{path}.1")
        return os.open(path, flags, 0o600)
    except OSError as error:
        raise CannotStart(f"its log `{path}` cannot be opened ({error.strerror})") from None


def _fork(log: int, telling: int, environ: "dict[str, str]") -> None:
    """Start it as nobody's child, so that neither our end nor our terminal's is its end."""
    between = os.fork()
    if between:
        os.waitpid(between, 0)
        return
    try:
        os.setsid()
        if os.fork() == 0:
            _become_daemon(log, telling, environ)
    finally:
        os._exit(127)


def _become_daemon(log: int, telling: int, environ: "dict[str, str]") -> None:
    os.chdir("/")
    # Above the numbers that are about to be taken.
    log, telling = _moved(log), _moved(telling)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (log, 1), (log, 2), (telling, _READY_FD)):
        os.dup2(source, target)
    _close_above(_READY_FD)
    command = (sys.executable, "-P", "-m", "switchboard", "daemon", "run")
    os.execve(sys.executable, command, {**environ, READY_VARIABLE: str(_READY_FD)})  # noqa: S606


def _close_above(last: int) -> None:
    """Close what our client left open for us. The daemon outlives it, and must hold none of it."""
    try:
        numbers = [int(name) for name in os.listdir(_OWN_FILES)]
    except OSError:
        os.closerange(last + 1, os.sysconf("SC_OPEN_MAX"))
        return
    for number in numbers:
        if number > last:
            # The one that the listing itself was read from is closed already.
            os.closerange(number, number + 1)


def _moved(number: int) -> int:
    return fcntl(number, F_DUPFD, 10)


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
