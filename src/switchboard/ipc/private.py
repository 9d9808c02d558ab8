"""Whether a folder and the other side of a socket belong to us alone."""

import os
import stat
import sys
from _socket import SOL_SOCKET, socket

_OTHERS = 0o077
_SO_PEERCRED = 17
_PEERCRED_BYTES = 12
# macOS: `struct xucred`, and the process in an option of its own.
_SOL_LOCAL, _LOCAL_PEERCRED, _LOCAL_PEERPID = 0, 1, 2
_XUCRED_BYTES = 76


class NotPrivate(Exception):  # noqa: N818 - states what is
    """Somebody else could reach what is ours, or the other side is somebody else."""


def make_private_folder(path: str) -> None:
    """Make the folder if need be. Raises `NotPrivate`, or `OSError` when it cannot be made."""
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120
        os.mkdir(path, 0o700)  # noqa: PTH102
    except FileExistsError:
        check_private_folder(path)


def check_private_folder(path: str) -> None:
    """The folder is one, no link, ours, and closed to others. Raises `NotPrivate` or `OSError`."""
    found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode):
        raise NotPrivate(f"`{path}` is not a folder")
    if found.st_uid != os.getuid():
        raise NotPrivate(f"`{path}` belongs to user {found.st_uid}")
    if found.st_mode & _OTHERS:
        os.chmod(path, 0o700)  # noqa: PTH101


def check_private_socket(path: str) -> None:
    """What lies there is a socket of ours. Raises `NotPrivate` or `OSError`."""
    found = os.lstat(path)
    if not stat.S_ISSOCK(found.st_mode):
        raise NotPrivate(f"`{path}` is not a socket")
    if found.st_uid != os.getuid():
        raise NotPrivate(f"`{path}` belongs to user {found.st_uid}")


def peer_of(sock: socket) -> "tuple[int, int]":
    """The process and the user at the other side of a connected socket."""
    if sys.platform == "darwin":
        credentials = sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_BYTES)
        process = sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID, 4)
        return int.from_bytes(process, sys.byteorder), int.from_bytes(
            credentials[4:8], sys.byteorder
        )
    credentials = sock.getsockopt(SOL_SOCKET, _SO_PEERCRED, _PEERCRED_BYTES)
    return (
        int.from_bytes(credentials[:4], sys.byteorder),
        int.from_bytes(credentials[4:8], sys.byteorder),
    )


def check_peer(sock: socket) -> int:
    """The process at the other side, which is ours. Raises `NotPrivate`."""
    process, user = peer_of(sock)
    if user != os.getuid():
        raise NotPrivate(f"the other side of the socket is user {user}")
    # A sandboxed client must not have its servers started outside of its sandbox; and 0, which is
    # what we are told then, would be our own process group when somebody is to be ended.
    if process <= 0:
        raise NotPrivate("the other side of the socket is in another process namespace")
    return process
