"""What `doctor` finds around a configuration: the home, the daemons there, the port."""

import os
import shlex
import socket
import stat
from collections.abc import Iterator

from switchboard import __version__
from switchboard.control.client import draining_daemons, running_daemon
from switchboard.control.requests import StatusRequest
from switchboard.control.status import read_status
from switchboard.core.faults import Fault
from switchboard.ipc.paths import DaemonPlaces
from switchboard.ipc.protocol import ABI
from switchboard.providers.source import Finding
from switchboard.sandbox.groups.control_groups import ControlGroups
from switchboard.sandbox.groups.group_tree import KernelTree
from switchboard.sandbox.probe import Unusable
from switchboard.settings.placing.foreign_home import on_foreign_disk
from switchboard.settings.placing.usable_home import home_fault
from switchboard.settings.sections import Listener
from switchkit.cli.columns import counted
from switchkit.platform import Unknown
from switchkit.platform.ports import bind_alone, holder, listening

_RESTART = ("switchboard", "daemon", "restart")
# Of a command line.
_MOST_CHARS = 80


def about_home(home: str) -> Iterator[Finding]:
    """A home where nothing can be written down: no trust, no server, no approval."""
    # One on a foreign disk is told with the settings, which are not read from there.
    if (fault := home_fault(home)) is not None and on_foreign_disk(home) is None:
        message = f"`{home}`: {fault.message}"
        remedy = ("chmod", "u+rwx", home) if _is_shut(home) else ()
        yield Finding(
            severity="error", subject="home", message=message, hint=fault.hint, remedy=remedy
        )


def _is_shut(home: str) -> bool:
    """Whether a folder of our own is closed to ourselves."""
    try:
        found = os.lstat(home)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


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
                    hint=shlex.join(_RESTART),
                    remedy=_RESTART,
                )
        draining = tuple(draining_daemons(places))
        for each in draining:
            each.close()
    except (Fault, OSError) as error:
        yield Finding(
            severity="warning",
            subject="daemon",
            message=f"it does not answer: {error}",
            hint=shlex.join(_RESTART),
            remedy=_RESTART,
        )
        return
    if draining:
        pids = ", ".join(str(each.pid) for each in draining)
        yield Finding(
            severity="warning",
            subject="daemon",
            message=f"{counted(len(draining), 'old daemon')} (process {pids}) still"
            " has clients, which see no change of the configuration",
            hint=shlex.join(_RESTART),
            remedy=_RESTART,
        )


def about_groups(places: DaemonPlaces) -> Iterator[Finding]:
    """Whether limits hold for all processes of a server together, where the daemon is."""
    try:
        client = running_daemon(places)
    except (Fault, OSError):
        # Told by somebody else.
        client = None
    pid = 0 if client is None else client.pid
    if client is not None:
        client.close()
    found = ControlGroups(KernelTree(pid)).look()
    if isinstance(found, Unusable):
        message = (
            f"no control groups for them: {found.why}; `memory` holds for each process,"
            " `processes` not for root"
        )
        yield Finding(severity="note", subject="limits", message=message, hint=found.fix)
        return
    words = " and ".join({"memory": "`memory`", "pids": "`processes`"}[each] for each in found)
    message = f"control groups hold {words} for all processes of a server together"
    yield Finding(severity="note", subject="limits", message=message)


def about_port(listener: Listener) -> Iterator[Finding]:
    """Whether somebody else listens where `serve --http` would."""
    host, port = listener.host, listener.port
    if not port:
        return
    try:
        with socket.socket(_family(host)) as probe:
            bind_alone(probe, (host, port))
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
