"""Connections of which nobody knows yet whose they are."""

import asyncio


class Strangers:
    """Whoever came to a door with a password, and has not said it yet.

    Anybody on the machine can come, so they have few places, which are not those of the process,
    and who has waited longest makes room.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        # The oldest first.
        self._waiting: dict[asyncio.StreamWriter, None] = {}

    def __contains__(self, writer: asyncio.StreamWriter) -> bool:
        return writer in self._waiting

    def admit(self, writer: asyncio.StreamWriter) -> None:
        """One more."""
        while len(self._waiting) >= self._most:
            oldest = next(iter(self._waiting))
            self.forget(oldest)
            oldest.transport.abort()
        self._waiting[writer] = None

    def forget(self, writer: asyncio.StreamWriter) -> None:
        """It is none any more: it knows the password, or has gone."""
        self._waiting.pop(writer, None)
