"""The daemon's socket: one daemon a home, reachable by its user alone."""

# ruff: noqa: PTH104, PTH108, PTH116

import asyncio
import contextlib
import os
import socket
from fcntl import LOCK_EX, LOCK_NB, flock

from switchboard.core.faults import Fault, FaultCode
from switchboard.daemon.connection import Connection, OnConnection
from switchboard.ipc.paths import DaemonPlaces
from switchboard.ipc.private import NotPrivate, check_peer, make_private_folder

_BACKLOG = 1024


class Listening:
    """Holds the socket and the lock that says whose it is."""

    def __init__(self, places: DaemonPlaces) -> None:
        """Raises a fault when another daemon listens, or the folder is not ours alone."""
        self._places = places
        try:
            make_private_folder(places.folder)
        except NotPrivate as error:
            raise Fault(FaultCode.PERMISSION_DENIED, "socket-not-private", str(error)) from None
        except OSError as error:
            raise Fault(
                FaultCode.FAILED_PRECONDITION,
                "home-not-writable",
                f"`{places.folder}` cannot be made ({error.strerror})",
                hint="choose another home with `--home` or `SWITCHBOARD_HOME`",
            ) from None
        self._lock = os.open(places.life_lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            flock(self._lock, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise Fault(
                FaultCode.ALREADY_EXISTS,
                "daemon-running",
                "a daemon of this home is running already",
                hint="switchboard status",
            ) from None
        self._sock = self._bind()
        self._inode = os.stat(places.socket).st_ino
        self._is_open = True

    def _bind(self) -> socket.socket:
        # Under the lock: what lies there was left behind by a daemon that is no more. The name
        # appears only when somebody listens behind it, so no client meets a closed door.
        path, new = self._places.socket, f"{self._places.socket}.new"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(new)
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        mask = os.umask(0o177)
        try:
            sock.bind(new)
        finally:
            os.umask(mask)
        sock.listen(_BACKLOG)
        sock.setblocking(False)
        os.rename(new, path)
        return sock

    def start(self, on_connection: OnConnection) -> None:
        """Begin to take connections of our own user."""

        def accept() -> None:
            # All that wait, so that a crowd costs one turn of the loop.
            for _ in range(_BACKLOG):
                try:
                    sock, _ = self._sock.accept()
                except OSError:
                    return
                try:
                    pid = check_peer(sock)
                except (NotPrivate, OSError):
                    sock.close()
                    continue
                on_connection(Connection(sock, pid))

        asyncio.get_running_loop().add_reader(self._sock, accept)

    def close(self) -> None:
        """Take nobody any more, and let another daemon take the place."""
        if not self._is_open:
            return
        self._is_open = False
        asyncio.get_running_loop().remove_reader(self._sock)
        with contextlib.suppress(OSError):
            if os.stat(self._places.socket).st_ino == self._inode:
                os.unlink(self._places.socket)
        self._sock.close()
        os.close(self._lock)
