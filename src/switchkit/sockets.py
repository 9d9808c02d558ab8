"""Unix sockets that one user alone can reach. Light: a client waits for the shim."""

# ruff: noqa: SIM105 - contextlib is slow to load as well

import _socket
import os
from errno import EAGAIN, ECONNREFUSED, ENOENT, ENOTDIR

from switchkit.files import NotPrivate, check_private_socket
from switchkit.platform.light import REFUSED_IS_GONE, peer

_ABSENT = frozenset({ENOENT, ENOTDIR, ECONNREFUSED})
_OTHER_SIDE = "the other side of the socket"


def connect(path: str, timeout_s: "float | None" = None) -> "_socket.socket | None":
    """A connection to a listener of ours; None when nobody listens, or too many wait, for now.

    Raises `NotPrivate` when socket or listener are somebody else's, `TimeoutError`, `OSError`.
    """
    try:
        check_private_socket(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    sock.settimeout(timeout_s)
    try:
        sock.connect(path)
        check_peer_user(sock)
    except OSError as error:
        sock.close()
        if error.errno in _ABSENT or error.errno == EAGAIN:
            return None
        raise
    except BaseException:
        sock.close()
        raise
    return sock


def bind(path: str, sock: _socket.socket, backlog: int) -> None:
    """Listen, for this user alone, where no living listener is; what was left there goes.

    The name appears only when somebody listens behind it, so no client meets a closed door.
    """
    new = f"{path}.new"
    try:
        os.unlink(new)
    except FileNotFoundError:
        pass
    mask = os.umask(0o177)
    try:
        sock.bind(new)
    finally:
        os.umask(mask)
    sock.listen(backlog)
    sock.setblocking(False)
    os.rename(new, path)


def is_abandoned(path: str, owner: int) -> bool:
    """Whether a socket is there and the process that made it listens no more, nor ever will."""
    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    sock.settimeout(0)
    try:
        sock.connect(path)
    except OSError as error:
        return error.errno == ECONNREFUSED and (REFUSED_IS_GONE or not _is_running(owner))
    finally:
        sock.close()
    return False


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def check_peer_user(sock: _socket.socket) -> int:
    """The process at the other side, which is of our user. Raises `NotPrivate`."""
    process, user = peer(sock)
    if user != os.getuid():
        raise NotPrivate(_OTHER_SIDE, f"is user {user}")
    return process


def check_peer(sock: _socket.socket) -> int:
    """The process at the other side: of our user, and one that we can name. Raises `NotPrivate`."""
    process = check_peer_user(sock)
    # A sandboxed client must not have its servers started outside of its sandbox; and 0, which is
    # what we are told then, would be our own process group when somebody is to be ended.
    if process <= 0:
        raise NotPrivate(_OTHER_SIDE, "is in another process namespace")
    return process
