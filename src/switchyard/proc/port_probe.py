"""Whether a port is free, proved by binding it."""

import errno
import socket

WILDCARDS = ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::"))  # noqa: S104 - bound for a moment and never listened on


def is_bindable(port: int, *, strict: bool = True) -> bool:
    """Whether nobody holds the port, on either family and any address.

    Strict also refuses a port whose last connections are still being forgotten by the kernel.
    """
    for family, address in WILDCARDS:
        try:
            with socket.socket(family, socket.SOCK_STREAM) as probe:
                if family == socket.AF_INET6:
                    probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                if not strict:
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((address, port))
        except OSError as wrong:
            if wrong.errno in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL):
                continue
            return False
    return True
