"""The supervisor process: its start, its end, its lock and its socket."""

import socket
from pathlib import Path

from switchkit.files import make_private_folder
from switchkit.locks import open_lock, try_lock
from switchkit.sockets import bind
from switchyard.project.home import Home
from switchyard.project.registry import Registry

_BACKLOG = 128


def main(arguments: list[str]) -> int:
    """Become the supervisor of one project, unless there is one already."""
    home, root = Home(Path(arguments[0])), Path(arguments[1])
    places = Registry(home).places(root)
    make_private_folder(places.folder)
    if not try_lock(open_lock(places.supervisor_lock)):
        return 0
    make_private_folder(places.socket.parent)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    bind(str(places.socket), listener, _BACKLOG)
    try:
        # The caller can connect and send its request while the rest is loaded.
        from switchyard.supervisor.server import serve  # noqa: PLC0415

        serve(home, root, listener)
    finally:
        places.socket.unlink(missing_ok=True)
        listener.close()
    return 0
