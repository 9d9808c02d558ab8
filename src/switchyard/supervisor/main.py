"""How the supervisor process begins and ends: its lock, and its socket."""

import fcntl
import os
import socket
from pathlib import Path

from switchyard.files import PRIVATE_FILE, private_directory
from switchyard.project.home import Home
from switchyard.project.registry import Registry


def _take_lock(path: Path) -> int | None:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _bind(path: Path) -> socket.socket:
    private_directory(path.parent)
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o177)
    try:
        listener.bind(str(path))
    finally:
        os.umask(mask)
    listener.listen(128)
    listener.setblocking(False)
    return listener


def main(arguments: list[str]) -> int:
    """Become the supervisor of one project, unless there is one already."""
    home, root = Home(Path(arguments[0])), Path(arguments[1])
    places = Registry(home).places(root)
    private_directory(places.folder)
    lock = _take_lock(places.supervisor_lock)
    if lock is None:
        return 0
    listener = _bind(places.socket)
    try:
        # The caller can connect and send its request while the greater part is loaded.
        from switchyard.supervisor.server import serve  # noqa: PLC0415

        serve(home, root, listener)
    finally:
        places.socket.unlink(missing_ok=True)
        listener.close()
    return 0
