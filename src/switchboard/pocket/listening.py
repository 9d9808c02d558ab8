"""The one private address that phones reach: named, ours, and of no public network."""

import ipaddress
import socket

from switchboard.core.faults import Fault, FaultCode
from switchboard.surface.http.listener import bind
from switchboard.wire.http_hosts import in_url
from switchboard.wire.ip_addresses import kind_of

# A phone keeps its key for one address and port, so it stays the same.
DEFAULT_PORT = 8766
_MOST_PORT = 65_535


def read_address(text: str) -> tuple[str, int]:
    """An address of this machine as somebody typed it, with its port. Raises a fault."""
    host, port = text, ""
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        port = rest.removeprefix(":")
    elif text.count(":") == 1:
        host, _, port = text.partition(":")
    try:
        ipaddress.ip_address(host)
    except ValueError:
        raise _refused(f"`{text}` is no address: a name may come to mean another one") from None
    if port and not (port.isdecimal() and int(port) <= _MOST_PORT):
        raise _refused(f"`{port}` is no port")
    if kind_of(host) not in ("private", "loopback"):
        raise _refused(f"`{host}` is not an address of one private network")
    return host, int(port or DEFAULT_PORT)


def listen_on(host: str, port: int) -> socket.socket:
    """A socket that listens there and nowhere else. Raises a fault."""
    try:
        return bind(host, port, allow_remote=True)
    except Fault as fault:
        hint = f"choose another port: --listen {in_url(host)}:PORT"
        raise Fault(fault.code, fault.reason, fault.message, hint=hint) from fault


def _refused(message: str) -> Fault:
    return Fault(
        FaultCode.FAILED_PRECONDITION,
        "address-refused",
        message,
        hint="name the address of this computer in your own network: --listen 192.168.1.20",
    )
