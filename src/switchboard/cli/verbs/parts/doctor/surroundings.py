"""What `doctor` finds around a configuration: the home, the daemons there, the port."""

import os
import shlex
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
from switchkit.cli.columns import counted


def about_home(home: str) -> Iterator[Finding]:
    """A home where nothing can be written down: no trust, no server, no approval."""
    at = shlex.quote(home)
    if os.path.lexists(home) and not os.path.isdir(home):
        yield Finding(
            severity="error",
            subject="home",
            message=f"`{home}` is no folder, so nothing can be kept there",
            hint=f"move it away (mv {at} {at}.old), or set SWITCHBOARD_HOME to another folder",
        )
        return
    # What is not there yet is made below the first folder that is.
    there = home
    while not os.path.isdir(there) and there != os.path.dirname(there):
        there = os.path.dirname(there)
    if not os.access(there, os.W_OK | os.X_OK):
        yield Finding(
            severity="error",
            subject="home",
            message=f"`{there}` cannot be written, so `add` and `trust` fail",
            hint=f"chmod u+rwx {shlex.quote(there)}, or set SWITCHBOARD_HOME to another folder",
        )


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


def about_port(transport: str, host: str, port: int) -> Iterator[Finding]:
    """Whether somebody else listens where this configuration wants to."""
    if transport == "stdio" or not port:
        return
    try:
        with socket.create_server((host, port), family=_family(host)):
            return
    except OSError as error:
        yield Finding(
            severity="warning",
            subject="server.port",
            message=f"port {port} of {host} cannot be had: {error.strerror}",
            hint="end whoever listens there, or set another `server.port`",
        )


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
