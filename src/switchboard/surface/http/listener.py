"""The socket that HTTP is served on. Knows nothing of the server, which is large."""

import contextlib
import os
import socket

from switchboard.core.faults import Fault, FaultCode
from switchboard.wire.http_hosts import in_url, is_any_address, is_loopback
from switchkit.platform.ports import bind_alone

# The one path of the protocol.
PATH = "/mcp"
# Whether a gateway of a team lives, and whether it may be sent requests.
ALIVE_PATH, READY_PATH = "/healthz", "/readyz"
# What begins like this belongs to the daemon itself.
CONTROL_PATH = "/control/"
# Where gateways of a team forward what another one runs.
SINGLETONS_PATH = "/singletons/"
# Where people answer questions in a browser.
PEOPLE_PATH = "/people/"
_BACKLOG = 128


def bind(host: str, port: int, *, allow_remote: bool) -> socket.socket:
    """A socket that listens. Raises a fault."""
    try:
        found = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE | socket.AI_NUMERICSERV
        )
    except OSError as error:
        raise Fault(
            FaultCode.FAILED_PRECONDITION, "host-unknown", f"there is no address for `{host}`"
        ) from error
    family, _, _, _, address = min(found, key=lambda each: each[0])
    if not is_loopback(str(address[0])) and not allow_remote:
        raise Fault(
            FaultCode.FAILED_PRECONDITION,
            "host-not-loopback",
            f"`{host}` is reached from other machines, and that was not allowed",
            hint="use 127.0.0.1, or allow it with `--allow-remote`",
        )
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        bind_alone(listening, address)
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise Fault(
            FaultCode.FAILED_PRECONDITION,
            "port-in-use",
            f"port {port} of {host} cannot be used: {error.strerror}",
            hint="choose another one with `--port`",
        ) from error
    listening.setblocking(False)
    return listening


def adopted(number: int) -> socket.socket:
    """A copy of the listening TCP socket that somebody handed over. Raises a fault."""
    copy = os.dup(number)
    try:
        listening = socket.socket(fileno=copy)
    except OSError:
        os.close(copy)
        raise _not_listening() from None
    with contextlib.suppress(OSError):
        if (
            listening.family in {socket.AF_INET, socket.AF_INET6}
            and listening.type == socket.SOCK_STREAM
            and listening.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        ):
            listening.setblocking(False)
            return listening
    listening.close()
    raise _not_listening()


def _not_listening() -> Fault:
    return Fault(
        FaultCode.INVALID_ARGUMENT,
        "listen-refused",
        "what came with the request is not a listening TCP socket",
    )


def url_of(listening: socket.socket) -> str:
    """Where clients of this machine reach it."""
    host, port = listening.getsockname()[:2]
    name = "127.0.0.1" if is_any_address(host) else in_url(host)
    return f"http://{name}:{port}{PATH}"
