"""How the one way out of a sandbox is opened, from inside.

The sandbox has a network of its own, in which there is nothing but a loopback interface. A socket
belongs to the network that it was made in, whoever holds it later. So the first program inside
makes a socket that listens there, hands it to us, and becomes the program that was asked for. No
path leads out, nothing has to carry bytes back and forth, and nothing is left behind.
"""

import os
import sys
from io import FileIO

from msgspec import Struct

from switchboard.procs.outlet import Outlet
from switchboard.sandbox.masks import SCRATCH
from switchboard.sandbox.paths import is_below
from switchboard.sandbox.roots import Roots
from switchkit.platform.system import scratch_file

# Only what the interpreter has built in or beside it, so that it starts in a few milliseconds.
_STARTER = """\
import posix, sys, _socket
number, port, *argv = sys.argv[1:]
listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM, 0)
listener.bind(("127.0.0.1", int(port)))
listener.listen(128)
given = listener.fileno().to_bytes(4, sys.byteorder)
handover = _socket.socket(fileno=int(number))
handover.sendmsg([b"1"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, given)])
handover.close()
listener.close()
posix.execv(argv[0], argv)
"""


class OpenedOutlet(Struct, frozen=True, kw_only=True):
    """What the start of a sandbox needs on top."""

    arguments: tuple[str, ...]
    # Stands before the command.
    starter: tuple[str, ...]
    inherits: tuple[FileIO, ...]


def opened_outlet(outlet: Outlet, roots: Roots) -> OpenedOutlet:
    """The way out of a sandbox with these folders."""
    arguments: list[str] = []
    if (prefix := _hidden_prefix(roots)) is not None:
        arguments += ["--ro-bind", prefix, prefix]
    inherits: list[FileIO] = [outlet.handover]
    for path, content in outlet.files.items():
        file = FileIO(scratch_file("shown"), "r+b")
        inherits.append(file)
        file.write(content)
        file.seek(0)
        arguments += ["--ro-bind-data", str(file.fileno()), path]
    interpreter = os.path.realpath(sys.executable)
    return OpenedOutlet(
        arguments=tuple(arguments),
        starter=(
            *(interpreter, "-I", "-S", "-c", _STARTER),
            *(str(outlet.handover.fileno()), str(outlet.port)),
        ),
        inherits=tuple(inherits),
    )


def _hidden_prefix(roots: Roots) -> str | None:
    """The folder of our interpreter, where the sandbox would not show it."""
    prefix = os.path.realpath(sys.base_prefix)
    shown = [place for place, _ in roots.readable]
    emptied = (*roots.homes, *SCRATCH, *roots.hidden)
    if not any(is_below(prefix, each) for each in emptied) or prefix in shown:
        return None
    return prefix
