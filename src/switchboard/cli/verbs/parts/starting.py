"""The daemon, started if none runs."""

from collections.abc import Mapping

from switchboard.control.client import DaemonClient, running_daemon
from switchboard.core.faults import Fault, FaultCode
from switchboard.ipc.lines import CannotStart, connect
from switchboard.ipc.paths import DaemonPlaces
from switchboard.ipc.protocol import GREETING_S
from switchboard.shim.start_daemon import start_daemon
from switchkit.files import make_private_folder


def start(places: DaemonPlaces, environ: Mapping[str, str]) -> int:
    """Start it; gives its process. Raises a fault."""
    try:
        for folder in places.folders:
            make_private_folder(folder)
        line = connect(places.socket, GREETING_S) or start_daemon(places, dict(environ))
    except (CannotStart, OSError) as error:
        raise Fault(
            FaultCode.UNAVAILABLE,
            "daemon-cannot-start",
            f"the daemon cannot start: {error}",
            hint="switchboard daemon logs",
        ) from None
    line.close()
    return line.pid


def ready_daemon(places: DaemonPlaces, environ: Mapping[str, str]) -> DaemonClient:
    """The daemon that runs now, whether it did before or not. Raises a fault."""
    client = running_daemon(places)
    if client is None:
        start(places, environ)
        client = running_daemon(places)
    if client is None:
        raise Fault(
            FaultCode.UNAVAILABLE,
            "daemon-cannot-start",
            "the daemon has ended as soon as it had started",
            hint="switchboard daemon logs",
        )
    return client
