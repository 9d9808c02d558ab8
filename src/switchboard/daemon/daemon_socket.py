"""The daemon's socket: one daemon a home, reachable by its user alone."""

import asyncio
import contextlib
import os
import socket
from errno import ECONNABORTED, EMFILE

from switchboard.control.connection import OnConnection, SocketConnection
from switchboard.core.faults import Fault, FaultCode
from switchboard.daemon.held_files import HeldFiles
from switchboard.daemon.logs.stderr import write_line
from switchboard.ipc.paths import DaemonPlaces
from switchkit.files import NotPrivate, make_private_folder
from switchkit.locks import open_lock, try_lock
from switchkit.platform.files import foreign_disk
from switchkit.sockets import bind, check_peer, is_abandoned

# macOS lets 128 wait and refuses the next: whoever is refused while a daemon lives tries again.
_BACKLOG = 1024
# How long nobody is let in after no more files could be opened. The loop would else be told of the
# same waiting client over and over.
_PAUSE_S = 0.5
# So many are let in all the same, one after the other: commands are answered, and clients are told
# that there is no room for what they would hand over.
_SPARE_FILES = 4


class DaemonSocket:
    """Holds the socket and the lock that says whose it is."""

    def __init__(self, places: DaemonPlaces) -> None:
        """Raises a fault when another daemon listens, or the folder is not ours alone."""
        self._places = places
        if kind := foreign_disk(places.home):
            raise Fault(
                FaultCode.FAILED_PRECONDITION,
                "home-foreign-disk",
                # Whoever started the daemon is shown this sentence alone.
                f"the home lies on a disk of Windows (`{kind}`), where neither modes nor locks "
                "hold; keep it on that of Linux: export SWITCHBOARD_HOME=/home/$USER/.switchboard",
                hint="export SWITCHBOARD_HOME=/home/$USER/.switchboard",
            )
        try:
            for folder in places.folders:
                make_private_folder(folder)
        except NotPrivate as error:
            raise Fault(FaultCode.PERMISSION_DENIED, "socket-not-private", str(error)) from None
        except OSError as error:
            raise Fault(
                FaultCode.FAILED_PRECONDITION,
                "home-not-writable",
                f"`{error.filename or places.folder}` cannot be made ({error.strerror})",
                hint="choose another home with `--home` or `SWITCHBOARD_HOME`",
            ) from None
        self._lock = open_lock(places.life_lock)
        if not try_lock(self._lock):
            os.close(self._lock)
            raise Fault(
                FaultCode.ALREADY_EXISTS,
                "daemon-running",
                "a daemon of this home is running already",
                hint="switchboard status",
            )
        self._sweep()
        self._sock = self._bind()
        self._path = places.socket
        self._inode = os.stat(self._path).st_ino
        self._is_aside = False
        self._is_open = True
        self._is_short_of_files = False
        self._spare = HeldFiles(_SPARE_FILES)
        self._on_connection: OnConnection | None = None
        self._pause: asyncio.TimerHandle | None = None

    def _sweep(self) -> None:
        """Remove what draining daemons that were killed have left behind."""
        for path in self._places.side_sockets():
            if is_abandoned(path, self._places.side_owner(path)):
                with contextlib.suppress(OSError):
                    os.unlink(path)

    def _bind(self) -> socket.socket:
        # Under the lock: what lies there was left behind by a daemon that is no more.
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        bind(self._places.socket, sock, _BACKLOG)
        return sock

    def start(self, on_connection: OnConnection) -> None:
        """Begin to take connections of our own user."""
        self._on_connection = on_connection
        self._resume()

    def _resume(self) -> None:
        self._pause = None
        self._spare.fill()
        asyncio.get_running_loop().add_reader(self._sock, self._accept)

    def _accept(self) -> None:
        assert self._on_connection is not None
        # All that wait, so that a crowd costs one turn of the loop.
        for _ in range(_BACKLOG):
            try:
                sock, _ = self._sock.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno == ECONNABORTED:
                    continue
                if error.errno == EMFILE and self._spare.give(1):
                    continue
                self._rest(error)
                return
            if self._spare.fill():
                self._is_short_of_files = False
            try:
                pid = check_peer(sock)
            except (NotPrivate, OSError):
                sock.close()
                continue
            self._on_connection(SocketConnection(sock, pid))

    def _rest(self, error: OSError) -> None:
        """Let nobody in for a moment: whoever leaves meanwhile makes room."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._sock)
        self._pause = loop.call_later(_PAUSE_S, self._resume)
        if not self._is_short_of_files:
            self._is_short_of_files = True
            write_line(f"warning: clients have to wait: {error.strerror}")

    def step_aside(self) -> None:
        """Let another daemon take the place; commands reach us beside it."""
        if self._is_aside or not self._is_open:
            return
        self._is_aside = True
        with contextlib.suppress(OSError):
            if os.stat(self._path).st_ino == self._inode:
                aside = self._places.side_socket(os.getpid())
                os.rename(self._path, aside)
                self._path = aside
        # After the renaming: who holds the lock may put a socket of its own there.
        os.close(self._lock)

    def close(self) -> None:
        """Take nobody any more, and let another daemon take the place."""
        if not self._is_open:
            return
        self._is_open = False
        if self._pause is not None:
            self._pause.cancel()
        asyncio.get_running_loop().remove_reader(self._sock)
        with contextlib.suppress(OSError):
            if os.stat(self._path).st_ino == self._inode:
                os.unlink(self._path)
        self._sock.close()
        self._spare.close()
        if not self._is_aside:
            os.close(self._lock)
