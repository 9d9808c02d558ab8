"""Connections to this machine's own addresses."""

import socket


def dial(host: str, port: int, timeout_s: float) -> socket.socket:
    """Connect to a plain address. No resolver is asked, which would be loaded and locked first.

    Raises `OSError` when nobody accepts in time.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.settimeout(timeout_s)
        made.connect((host, port))
    except BaseException:
        made.close()
        raise
    return made
