"""What `doctor` finds around a configuration: the home, the daemons there, the port."""

import socket
from collections.abc import Iterator

from switchboard import __version__
from switchboard.control.client import draining_daemons, running_daemon
from switchboard.control.requests import StatusRequest
from switchboard.control.status import read_status
from switchboard.core.faults import Fault
from switchboard.ipc.paths import DaemonPlaces
from switchboard.ipc.protocol import ABI
from switchboard.providers.source import Finding
from switchboard.settings.placing.usable_home import home_fault
from switchboard.settings.sections import Listener
from switchkit.cli.columns import counted
from switchkit.platform import Unknown
from switchkit.platform.ports import holder, listening

# Of a command line.
_MOST_CHARS = 80


def about_home(home: str) -> Iterator[Finding]:
    """A home where nothing can be written down: no trust, no server, no approval."""
    if (fault := home_fault(home)) is not None:
        message = f"`{home}`: {fault.message}"
        yield Finding(severity="error", subject="home", message=message, hint=fault.hint)


def about_daemons(places: DaemonPlaces) -> Iterator[Finding]:
    """Daemons of another version, and those that only wait for their last client."""
    try:
        client = running_daemon(places)
        if client is not None:
            status = read_status(client.ask(StatusRequest()), client.pid)
            client.close()
            if status.abi != ABI:
                yield Finding(
                    severity="warning",
                    subject="daemon",
                    message=f"process {status.pid} is of version {status.version}, and this is"
                    f" {__version__}: clients that are connected keep the old one",
                    hint="switchboard daemon restart",
                )
        draining = tuple(draining_daemons(places))
        for each in draining:
            each.close()
    except (Fault, OSError) as error:
        yield Finding(
            severity="warning",
            subject="daemon",
            message=f"it does not answer: {error}",
            hint="switchboard daemon restart",
        )
        return
    if draining:
        pids = ", ".join(str(each.pid) for each in draining)
        yield Finding(
            severity="warning",
            subject="daemon",
            message=f"{counted(len(draining), 'old daemon')} (process {pids}) still"
            " has clients, which see no change of the configuration",
            hint="restart those clients, or: switchboard daemon stop",
        )


def about_port(listener: Listener) -> Iterator[Finding]:
    """Whether somebody else listens where `serve --http` would."""
    host, port = listener.host, listener.port
    if not port:
        return
    try:
        with socket.create_server((host, port), family=_family(host)):
            return
    except OSError as error:
        who = _holder(port)
        if "switchboard" in who:
            # It is us who serve there.
            return
        taken = f"is taken by {who}" if who else f"cannot be had: {error.strerror}"
        is_wanted = listener.transport == "http"
        yield Finding(
            severity="warning" if is_wanted else "note",
            subject="server.port" if is_wanted else "port",
            message=f"port {port} of {host} {taken}"
            + ("" if is_wanted else ", so `switchboard serve --http` needs another"),
            hint="end whoever listens there, or set another `server.port`"
            if is_wanted
            else "switchboard serve --http --port NUMBER",
        )


def _holder(port: int) -> str:
    """Who has a port, as far as the system tells us."""
    try:
        found = holder(listening().get(port, set()))
    except Unknown:
        return ""
    return f"process {found.pid} (`{found.command[:_MOST_CHARS]}`)" if found is not None else ""


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
