"""The ways out: addresses, sockets with a path, abstract ones, and inherited descriptors."""

import asyncio
import json
import os
import socket
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sandbox.den import PATH, Den
from support.processes import descendants_of
from support.requirements import requirement

# Connects and sends; says what came of it.
CONNECT = """
import json, socket, sys
family, kind, address = json.loads(sys.argv[1])
try:
    made = socket.socket(getattr(socket, family), getattr(socket, kind))
    made.settimeout(5)
    made.connect(tuple(address) if isinstance(address, list) else address.replace("@", chr(0), 1))
    made.send(b"hello")
    print(json.dumps("reached"))
except OSError as error:
    print(json.dumps(error.errno))
"""


@contextmanager
def listening(family: int, kind: int, address: object) -> Generator[socket.socket]:
    """A socket of the host that hears whoever reaches it."""
    with socket.socket(family, kind) as made:
        made.bind(address)  # pyright: ignore[reportArgumentType]
        if kind == socket.SOCK_STREAM:
            made.listen()
        made.setblocking(False)
        yield made


def heard(made: socket.socket) -> bool:
    """Whether somebody came."""
    try:
        if made.type == socket.SOCK_STREAM:
            made.accept()[0].close()
        else:
            made.recv(100)
    except BlockingIOError:
        return False
    return True


def asked(family: str, kind: str, address: object) -> str:
    return json.dumps([family, kind, address])


@requirement("S3.44", "S3.96", "S3.97")
@pytest.mark.parametrize("kind", ["SOCK_STREAM", "SOCK_DGRAM"])
async def test_loopback_is_reached_only_where_the_network_is_allowed(den: Den, kind: str) -> None:
    number = getattr(socket, kind)
    with listening(socket.AF_INET, number, ("127.0.0.1", 0)) as host:
        question = asked("AF_INET", kind, list(host.getsockname()))
        await den.python(CONNECT, question)
        assert not heard(host)
        await den.python(CONNECT, question, allow_network=True)
        assert heard(host)


@pytest.mark.parametrize("allow_network", [False, True])
@pytest.mark.parametrize("place", ["home", "workspace", "abstract"])
async def test_no_unix_socket_of_the_host_is_reached(
    den: Den, place: str, allow_network: bool
) -> None:
    """An agent of keys, a container engine and the bus of the desktop listen on these."""
    addresses = {
        "home": str(den.home / "agent"),
        "workspace": str(den.workspace / "agent"),
        "abstract": f"@switchboard-{os.getpid()}",
    }
    address = addresses[place]
    with listening(socket.AF_UNIX, socket.SOCK_STREAM, address.replace("@", "\0", 1)) as host:
        question = asked("AF_UNIX", "SOCK_STREAM", address)
        await den.python(CONNECT, question, allow_network=allow_network)
        assert not heard(host)
        await den.python(CONNECT, question, profile="none")
        assert heard(host)


# One end of a pair of datagrams can be connected anew, to anybody.
RECONNECT = """
import socket, sys
address = sys.argv[1].replace("@", chr(0), 1)
for kind in (socket.SOCK_DGRAM, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK, socket.SOCK_RAW):
    try:
        one, _ = socket.socketpair(socket.AF_UNIX, kind)
        one.sendto(b"hello", address)
        one.connect(address)
        one.send(b"hello")
    except OSError:
        pass
"""


@requirement("S3.18", "S3.96")
@pytest.mark.parametrize("allow_network", [False, True])
@pytest.mark.parametrize("place", ["workspace", "abstract"])
async def test_no_unix_socket_of_the_host_is_reached_through_a_pair(
    den: Den, place: str, allow_network: bool
) -> None:
    """Logs and service managers listen on sockets that take datagrams."""
    abstract = f"@switchboard-pair-{os.getpid()}"
    address = str(den.workspace / "log") if place == "workspace" else abstract
    with listening(socket.AF_UNIX, socket.SOCK_DGRAM, address.replace("@", "\0", 1)) as host:
        await den.python(RECONNECT, address, allow_network=allow_network)
        assert not heard(host)
        await den.python(RECONNECT, address, profile="none")
        assert heard(host)


async def test_other_kinds_of_sockets_are_not_made(den: Den) -> None:
    program = """
import json, socket
found = []
for family, kind in ((socket.AF_PACKET, socket.SOCK_RAW), (socket.AF_VSOCK, socket.SOCK_STREAM)):
    try:
        socket.socket(family, kind)
        found.append("made")
    except OSError as error:
        found.append(error.errno)
print(json.dumps(found))
"""
    for allow_network in (False, True):
        assert "made" not in (await den.python(program, allow_network=allow_network)).said


async def test_pairs_of_sockets_between_its_own_processes_work(den: Den) -> None:
    program = """
import asyncio, multiprocessing, socket
a, b = socket.socketpair()
a.send(b"x"); assert b.recv(1) == b"x"
async def main():
    made = await asyncio.create_subprocess_exec("/bin/echo", "hello", stdout=-1)
    print((await made.communicate())[0].decode().strip())
asyncio.run(main())
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(abs, [-1, -2]) == [1, 2]
"""
    ended = await den.python(program)
    assert (ended.status, ended.stdout) == (0, "hello\n"), ended.stderr


async def test_only_the_standard_streams_are_inherited(den: Den) -> None:
    """An open descriptor of ours would be a way out that no namespace closes."""
    secret = den.home / ".ssh" / "id_ed25519"
    program = "import json, os; print(json.dumps(os.listdir('/proc/self/fd')))"
    number = os.open(secret, os.O_RDONLY)
    try:
        os.set_inheritable(number, True)
        with socket.socket() as made:
            made.set_inheritable(True)
            found = (await den.python(program)).said
    finally:
        os.close(number)
    # The fourth is the listing itself.
    assert sorted(map(int, found)) == [0, 1, 2, 3]


async def test_the_environment_is_exactly_the_given_one(
    den: Den, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_SWITCHBOARD", "a secret")
    program = "import json, os; print(json.dumps(dict(os.environ)))"
    given = {"TOKEN": "x", "LD_LIBRARY_PATH": "/nowhere"}
    found = (await den.python(program, env=given)).said
    assert found == {
        **given,
        "PATH": PATH,
        "HOME": str(den.home),
        "LANG": "C.UTF-8",
        # Bubblewrap says where it went.
        "PWD": str(den.workspace),
    }


def command_line(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


async def test_no_value_of_the_environment_can_be_read_in_a_command_line(den: Den) -> None:
    value = "a-value-that-nobody-else-may-see"
    env = {"TOKEN": value, "LD_LIBRARY_PATH": f"/{value}"}
    async with den.started(("sh", "-c", "echo up; exec sleep 600"), env) as running:
        assert await asyncio.to_thread(running.stdout.readline) == b"up\n"
        lines = [command_line(pid) for pid in (running.pid, *descendants_of(running.pid))]
    assert all(lines)
    assert value.encode() not in b"".join(lines)


async def test_what_loads_code_is_loaded_inside_only(den: Den) -> None:
    """Bubblewrap is outside of the sandbox: what it loads runs there."""
    trace = den.workspace / "trace"
    # The loader writes a file for each process that it starts with these.
    env = {"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(trace)}
    ended = await den.run(("/bin/true",), env)
    assert ended.status == 0
    traces = [each.read_text("utf-8", "replace") for each in den.workspace.glob("trace*")]
    assert len(traces) == 1, "only the program inside has written one"
    assert "bwrap" not in traces[0]
