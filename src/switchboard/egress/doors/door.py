"""Where the connections of one process reach its proxy."""

import socket
from collections.abc import Callable
from io import FileIO
from typing import Protocol

# Answers whoever connects to a socket that listens, until the way out is closed.
Serve = Callable[[socket.socket], None]


class Door(Protocol):
    """The socket that the proxy of one process listens on, from its making to its end."""

    @property
    def port(self) -> int: ...

    @property
    def password(self) -> str:
        """What whoever comes has to know; empty where nobody else can come."""
        ...

    @property
    def handover(self) -> FileIO | None:
        """What the process gives the socket back through, where it makes the socket itself."""
        ...

    def open(self, serve: Serve) -> None:
        """Have what listens here answered, as soon as something does. Once."""
        ...

    async def aclose(self) -> None:
        """Close what was not given away. Once is enough; twice does no harm."""
        ...
