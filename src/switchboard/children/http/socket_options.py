"""What the kernel is told of each connection, so that one that leads nowhere is noticed.

After a sleep, or on another network, a connection may be gone at the other end without a word. The
kernel then asks, and gives it up when nobody answers.
"""

import socket

_IDLE_S = 15
_BETWEEN_S = 5
_MOST_UNANSWERED = 3
# How long what was sent may stay without an acknowledgement.
_UNACKNOWLEDGED_MS = 30_000

# Systems differ in which of these they know, and some call the first by another name.
_BY_NAME = {
    "TCP_KEEPIDLE": _IDLE_S,
    "TCP_KEEPALIVE": _IDLE_S,
    "TCP_KEEPINTVL": _BETWEEN_S,
    "TCP_KEEPCNT": _MOST_UNANSWERED,
    "TCP_USER_TIMEOUT": _UNACKNOWLEDGED_MS,
}

WATCHED: tuple[tuple[int, int, int], ...] = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in _BY_NAME.items()
        if hasattr(socket, name)
    ),
)
