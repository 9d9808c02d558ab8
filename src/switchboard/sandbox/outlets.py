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
from msgspec.structs import replace

from switchboard.procs.outlet import Outlet
from switchboard.sandbox.policy import SandboxPolicy
from switchkit.platform.files import scratch_file

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


_SHOWN_ANYWAY = ("/usr", "/usr/local")


class OpenedOutlet(Struct, frozen=True, kw_only=True):
    """What the start of a sandbox needs on top."""

    arguments: tuple[str, ...]
    # Stands before the command.
    starter: tuple[str, ...]
    inherits: tuple[FileIO, ...]


def with_interpreter(confinement: SandboxPolicy) -> SandboxPolicy:
    """The same bounds, in which our own interpreter can be run, wherever it lies."""
    prefix = os.path.realpath(sys.base_prefix)
    if prefix in _SHOWN_ANYWAY:
        return confinement
    return replace(confinement, read_roots=(*confinement.read_roots, prefix))


def opened_outlet(outlet: Outlet) -> OpenedOutlet:
    """What opens the way out."""
    assert outlet.handover is not None, "it has a network of its own"
    arguments: list[str] = []
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
