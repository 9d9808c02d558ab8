"""Running as the daemon: where it is, how long it stays, what it writes down."""

import contextlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence

from switchboard.config.problems import ConfigInvalid
from switchboard.core.bus import Subscriber
from switchboard.core.faults import Fault
from switchboard.daemon.desk.home_notices import HomeNotices
from switchboard.daemon.logs.log import Log
from switchboard.daemon.logs.log_sink import LogSink
from switchboard.daemon.logs.telemetry import telemetry_for
from switchboard.daemon.server import Daemon
from switchboard.daemon.state import DaemonState
from switchboard.ipc.paths import places_from
from switchboard.ipc.protocol import READY_VARIABLE
from switchboard.settings.load import load_settings
from switchboard.settings.sections import Keeping, Settings
from switchkit.open_files import raise_file_limit

# Every client takes three open files, and the usual limit is for programs with one.
_OPEN_FILES = 8_192


async def run_daemon(environ: Mapping[str, str]) -> int:
    """Be the daemon of this environment's home. Raises a fault when there is one already."""
    ready = _ready_file(environ)
    # The shell that started us ignores it, and our children would inherit that.
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    raise_file_limit(_OPEN_FILES)
    telemetry = telemetry_for(environ)
    try:
        daemon = _built(environ, [] if telemetry is None else [telemetry])
    except Fault as fault:
        if ready is not None:
            with contextlib.suppress(OSError):
                os.write(ready, f"{fault.message}\n".encode())
        raise
    code = await daemon.run(ready)
    if telemetry is not None:
        telemetry.close()
    return code


def _built(environ: Mapping[str, str], more: Sequence[Subscriber]) -> Daemon:
    places = places_from(dict(environ))
    settings = _home_settings(environ, places.home)
    log = Log(
        LogSink(sys.stderr.fileno()),
        style=settings.logging.format if settings else "compact",
        directives=settings.logging.filter if settings else "info",
    )
    keeping = settings.keeping if settings else Keeping()
    state = DaemonState(
        places,
        log=log,
        idle_s=keeping.idle_ms / 1000,
        more=more,
        run_limits=settings.runs if settings else None,
        notices=HomeNotices(
            places.home, environ, settings, lambda: _home_settings(environ, places.home)
        ),
    )
    # What a client starts is started without its proxies, so these are the person's own.
    state.shared_children.egress.own_environ = environ
    return Daemon(state)


def _home_settings(environ: Mapping[str, str], home: str) -> Settings | None:
    """What the home says of the daemon. Its mistakes are told to clients, and do not stop us."""
    try:
        return load_settings(workspace=home, environ=environ, is_home=True)
    except ConfigInvalid:
        return None


def _ready_file(environ: Mapping[str, str]) -> int | None:
    """Where whoever started us waits to hear that we listen."""
    number = environ.get(READY_VARIABLE, "")
    if not number.isdigit():
        return None
    os.set_inheritable(int(number), False)
    return int(number)
