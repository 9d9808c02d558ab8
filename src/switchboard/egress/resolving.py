"""What names stand for."""

import asyncio
import socket
from typing import Protocol


class HostResolver(Protocol):
    """Looks names up."""

    async def addresses(self, host: str, port: int) -> list[str]:
        """Every address of a name, each once; of an address, itself. Raises OSError."""
        ...


class SystemResolver:
    """The one of the machine."""

    async def addresses(self, host: str, port: int) -> list[str]:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return list(dict.fromkeys(str(each[4][0]) for each in found))
