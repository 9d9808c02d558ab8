"""Unix sockets of a program that may make some: its own, and none of the host."""

import os
import socket
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sandbox.den import Den
from sandbox.test_network import CONNECT, RECONNECT, asked, heard, listening
from support.requirements import requirement
from switchboard.core.faults import Fault
from switchboard.sandbox.policy import SandboxPolicy
from switchboard.sandbox.walls.inventory import inventory

# Two processes talk over a socket with a path, an abstract one and a pair, and pass a file on.
TALK = """
import array, os, socket, sys
for address in (sys.argv[1], "/tmp/own", chr(0) + "own"):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(address)
        listener.listen()
        if os.fork() == 0:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
                other.connect(address)
                number = os.open("/etc/hostname", os.O_RDONLY)
                given = array.array("i", [number])
                other.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, given)])
            os._exit(0)
        said, passed, _, _ = listener.accept()[0].recvmsg(1, 100)
        os.wait()
        assert said == b"x" and passed
print("talked")
"""


def browser(den: Den, **more: Any) -> dict[str, Any]:
    """A browser runs in its state folder."""
    return {"features": ("browser",), "cwd": str(den.state), **more}


@requirement("S3.38")
async def test_processes_of_a_browser_talk_over_sockets_of_their_own(den: Den) -> None:
    ended = await den.python(TALK, str(den.state / "own"), **browser(den))
    assert (ended.status, ended.stdout) == (0, "talked\n"), ended.stderr
    without = await den.python(TALK, str(den.state / "other"))
    assert "Address family not supported" in without.stderr


# Where agents of keys, container engines, the bus, the desktop and databases listen.
PLACES = ("home", "workspace", "root", "reads", "tmp", "run", "var", "abstract", "x11")


def _address(den: Den, place: str) -> str:
    name = f"sb-{os.getpid()}"
    folders = {
        "home": den.home / ".gnupg",
        "workspace": den.workspace,
        "root": den.home / "opened",
        "reads": den.home / "shown" / "b",
        "tmp": Path("/tmp"),
        "run": Path("/run"),
        "var": Path("/var/lib"),
    }
    if place not in folders:
        return f"@{'/tmp/.X11-unix/' if place == 'x11' else ''}{name}"
    folders[place].mkdir(parents=True, exist_ok=True)
    return str(folders[place] / name)


@contextmanager
def made_anew(address: str) -> Generator[None]:
    """Remove what was bound: some places are the machine's own."""
    try:
        yield
    finally:
        Path(address).unlink(missing_ok=True)


@requirement("S3.18", "S3.38", "S3.96")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", ["SOCK_STREAM", "SOCK_DGRAM"])
async def test_no_unix_socket_of_the_host_is_reached_by_a_browser(
    den: Den, place: str, kind: str
) -> None:
    address = _address(den, place)
    roots = {
        "writable_roots": (str(den.home / "opened"),),
        "read_roots": (str(den.home / "shown"),),
    }
    for each in ("opened", "shown"):
        (den.home / each).mkdir(exist_ok=True)
    program, question = CONNECT, asked("AF_UNIX", kind, address)
    if kind == "SOCK_DGRAM":
        program, question = RECONNECT, address
    with (
        made_anew(address),
        listening(socket.AF_UNIX, getattr(socket, kind), address.replace("@", "\0", 1)) as host,
    ):
        await den.python(program, question, **browser(den, **roots))
        assert not heard(host)
        await den.python(program, question, profile="none")
        assert heard(host)


async def test_datagrams_are_for_nobody(den: Den) -> None:
    """The log of the system and service managers take them."""
    program = """
import json, socket
found = []
for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM, socket.SOCK_RAW):
    try:
        socket.socket(socket.AF_UNIX, kind | socket.SOCK_CLOEXEC).close()
        found.append("made")
    except OSError as error:
        found.append(error.errno)
print(json.dumps(found))
"""
    assert (await den.python(program, **browser(den))).said == ["made", "made", 1, 1]


async def test_the_network_of_the_machine_is_not_shared_with_a_browser(den: Den) -> None:
    """On it the abstract sockets of the desktop could be reached."""
    with pytest.raises(Fault, match="network of its own"):
        await den.python("print(1)", **browser(den, allow_network=True))
    with listening(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)) as host:
        question = asked("AF_INET", "SOCK_STREAM", list(host.getsockname()))
        await den.python(CONNECT, question, **browser(den))
        assert not heard(host)


async def test_a_link_to_an_opened_folder_shows_no_socket_of_it(den: Den) -> None:
    shown = den.home / "shown"
    shown.mkdir()
    link = den.home / "link"
    link.symlink_to(shown)
    address = str(shown / "agent")
    with listening(socket.AF_UNIX, socket.SOCK_STREAM, address) as host:
        for way in (address, str(link / "agent")):
            question = asked("AF_UNIX", "SOCK_STREAM", way)
            opened = {"read_roots": (str(link),), "path": f"{link}:/usr/bin:/bin"}
            # It came to its end, and was not ended for a guard that is where it was.
            assert isinstance(
                (await den.python(CONNECT, question, **browser(den, **opened))).said, int
            )
            assert not heard(host)


async def test_a_folder_too_large_to_be_searched_is_not_opened_to_a_browser(den: Den) -> None:
    large = den.home / "large"
    for number in range(3_001):
        (large / str(number)).mkdir(parents=True)
    assert not inventory(str(large)).is_whole
    with pytest.raises(Fault, match="too large to be searched"):
        await den.python("print(1)", **browser(den, read_roots=(str(large),)))


async def test_a_browser_sees_the_folders_of_programs_only(den: Den) -> None:
    """Whoever the user is: daemons listen in `/var`, `/srv` and `/opt`."""
    program = "import json, os; print(json.dumps(sorted(os.listdir('/var'))))"
    assert "spool" not in (await den.python(program, **browser(den))).said


def test_a_policy_without_features_has_no_sockets_of_its_own() -> None:
    assert not SandboxPolicy(cwd="/", home="/").has_own_sockets
