"""Linux without what macOS lacks: found by each interpreter that has this folder in its path.

The platform is the side of macOS, over the double of its kernel. Names that only Linux has are
gone, and `/proc` is hidden from everybody but the double.
"""

import builtins
import io
import os
import sys
from collections.abc import Callable
from typing import Any

_NOUNS = ("processes", "facts", "streams", "files", "limits", "ports", "light", "paths", "promises")
_TESTS = __file__.removesuffix("/support/simulated/sitecustomize.py")


def _kernel() -> None:
    sys.path.insert(0, _TESTS)
    try:
        from support import darwin_kernel  # noqa: PLC0415

        if root := os.environ.get("SIMULATED_DISK"):
            from support import folding_disk  # noqa: PLC0415

            folding_disk.install(root)
            builtins.open = io.open
    finally:
        sys.path.remove(_TESTS)
    real = sys.platform
    sys.platform = "darwin"
    try:
        from switchkit.platform.darwin import calls  # noqa: PLC0415

        for each in darwin_kernel.CALLS:
            setattr(calls, each.__name__, each)
        for noun in _NOUNS:
            __import__(f"switchkit.platform.{noun}")
    finally:
        # Python's own library is that of Linux, and would look for what a Mac has.
        sys.platform = real


def _light() -> None:
    """What a Mac tells by options and names of its own is told by Linux's here."""
    import _socket  # noqa: PLC0415

    from switchkit.platform import light  # noqa: PLC0415

    option = _socket.SO_PEERCRED

    def peer(sock: "_socket.socket") -> "tuple[int, int]":
        raw = sock.getsockopt(_socket.SOL_SOCKET, option, 12)
        return int.from_bytes(raw[:4], sys.byteorder), int.from_bytes(raw[4:8], sys.byteorder)

    light.peer = peer
    light.system_name = lambda: "Darwin"
    light.RECEIVE_CLOSED = 0


def _take_away() -> None:
    import _socket  # noqa: PLC0415
    import resource  # noqa: PLC0415
    import select  # noqa: PLC0415
    import signal  # noqa: PLC0415
    import socket  # noqa: PLC0415

    gone = {
        os: ("pidfd_open", "pipe2", "memfd_create", "eventfd", "waitid", "O_PATH", "splice"),
        _socket: ("SO_PEERCRED", "AF_NETLINK", "SOCK_NONBLOCK", "SOCK_CLOEXEC", "MSG_CMSG_CLOEXEC"),
        socket: ("SO_PEERCRED", "AF_NETLINK", "SOCK_NONBLOCK", "SOCK_CLOEXEC", "MSG_CMSG_CLOEXEC"),
        resource: ("prlimit",),
        select: ("epoll",),
        signal: ("pidfd_send_signal",),
    }
    for module, names in gone.items():
        for name in names:
            if hasattr(module, name):
                delattr(module, name)


def _hide_proc() -> None:
    def hiding(real: Callable[..., Any]) -> Callable[..., Any]:
        def ask(path: Any = ".", *more: Any, **named: Any) -> Any:
            try:
                text = os.fsdecode(path)
            except TypeError:
                text = ""
            if text == "/proc" or text.startswith("/proc/"):
                raise FileNotFoundError(2, "No such file or directory", text)
            return real(path, *more, **named)

        return ask

    for name in ("open", "listdir", "scandir", "readlink", "stat", "lstat", "access"):
        setattr(os, name, hiding(getattr(os, name)))
    builtins.open = io.open = hiding(io.open)


def _sandbox() -> None:
    """A program that stands for `sandbox-exec`, where a test has one."""
    if program := os.environ.get("SIMULATED_SEATBELT"):
        from switchboard.sandbox import seatbelt  # noqa: PLC0415

        seatbelt.PROGRAM = program


if "SIMULATED_DARWIN" in os.environ:
    # What ours start with it is in the simulation too.
    sys.executable = os.environ["SIMULATED_DARWIN"]
    _kernel()
    _light()
    _take_away()
    _hide_proc()
    _sandbox()
