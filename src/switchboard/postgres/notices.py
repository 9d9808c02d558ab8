"""Being told that something in the database has changed, by whichever process.

One connection listens, on a thread of its own that sleeps until something comes.
"""

import contextlib
import select
import socket
import threading
from collections.abc import Callable

import psycopg
from psycopg.sql import SQL, Identifier

from switchboard.postgres.address import DatabaseAddress
from switchboard.postgres.database import Connection, Mismatch, connect

# After a connection was lost, before the next is tried.
_RETRY_S = 0.5


class Notices:
    """Listens to one channel until it is closed. `tell` is called on the thread, with the payload.

    After a connection was lost something may have been missed: `tell` is called with nothing once
    there is another.
    """

    def __init__(
        self,
        address: DatabaseAddress,
        channel: str,
        tell: Callable[[str], None],
        *,
        failure: Callable[[str], Exception],
    ) -> None:
        """Listen from now on. Raises what `failure` makes of the words of an error."""
        self._address = address
        self._channel = channel
        self._tell = tell
        self._is_closing = threading.Event()
        self._woken, self._waker = socket.socketpair()
        try:
            connection = self._listening()
        except (OSError, psycopg.Error, Mismatch) as error:
            self._woken.close()
            self._waker.close()
            raise failure(address.without_secret(repr(error))) from None
        # A daemon: a server that never answers must not keep the program alive.
        self._thread = threading.Thread(
            target=self._run, args=(connection,), name=f"listen-{channel}", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop listening. What is told at this moment may still come."""
        self._is_closing.set()
        with contextlib.suppress(OSError):
            self._waker.send(b"x")

    def _listening(self) -> Connection:
        connection = connect(self._address)
        try:
            connection.execute(SQL("LISTEN {}").format(Identifier(self._channel)))
        except BaseException:
            connection.close()
            raise
        return connection

    def _run(self, connection: Connection | None) -> None:
        while not self._is_closing.is_set():
            try:
                if connection is None:
                    connection = self._listening()
                    self._tell("")
                self._hear(connection)
            except (OSError, psycopg.Error, Mismatch):
                if connection is not None:
                    connection.close()
                    connection = None
                self._is_closing.wait(_RETRY_S)
        if connection is not None:
            connection.close()
        self._woken.close()
        self._waker.close()

    def _hear(self, connection: Connection) -> None:
        server = connection.pgconn
        # Not `select.select`: a gateway has more files open than that can take.
        news = select.poll()
        news.register(server.socket, select.POLLIN)
        news.register(self._woken, select.POLLIN)
        while not self._is_closing.is_set():
            news.poll()
            server.consume_input()
            while notice := server.notifies():
                self._tell(notice.extra.decode("utf-8", "replace"))
