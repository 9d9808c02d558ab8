"""A person behind a proxy that looks into TLS: their authorities count on the way out as well."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from cli.commands import switchboard
from egress.test_confined import NODE
from egress.world import SECRET, FakeResolver, Heard, Site, way_out
from sandbox.den import Den
from support.authority import Authority
from support.workspace import CHECKOUT, Workspace, child_command, server
from switchboard.core.network.egress import egress_from
from switchboard.egress.believed import certificates_in
from switchboard.egress.record import EgressRecord
from switchboard.egress.session_variables import SessionVariables
from switchboard.egress.way_out import ProxiedWayOut, WayOutSpec

PYTHON = """
import sys, urllib.request
for url in sys.argv[1:]:
    print(urllib.request.urlopen(url).read().decode())
"""
FETCH = """
(async () => {
  for (const url of process.argv.slice(1)) console.log(await (await fetch(url)).text());
})();
"""


def both(site: Site) -> list[str]:
    return [f"https://{host}:{site.port}/" for host in ("api.test", "other.test")]


@asynccontextmanager
async def reaching(den: Den, folder: Path, *names: str, **special: Any) -> AsyncGenerator[Site]:
    """Two hosts, one of them special; these variables of the person name who signed for them."""
    authority = Authority(folder)

    async def look_up() -> dict[str, str]:
        return {"env:TOKEN": SECRET}

    async with Site().open(authority.context("api.test", "other.test")) as site:
        hosts = (f"other.test:{site.port}", f"127.0.0.1:{site.port}")
        spec = WayOutSpec(
            server="tool",
            hosts=egress_from({f"api.test:{site.port}": special, **{each: {} for each in hosts}}),
            variables=SessionVariables(
                environ={"SSL_CERT_FILE": str(authority.file)},
                believed=dict.fromkeys(names, str(authority.file)),
            ),
            look_up=look_up,
        )
        resolver = FakeResolver(api_test="127.0.0.1", other_test="127.0.0.1")
        den.way_out = ProxiedWayOut(spec, resolver, EgressRecord(), Heard())
        try:
            yield site
        finally:
            await den.way_out.aclose()


@pytest.mark.parametrize("special", [{}, {"inject": "env:TOKEN"}], ids=["tunnels", "looked into"])
async def test_node_believes_whom_its_person_believes(
    den: Den, tmp_path: Path, special: dict[str, Any]
) -> None:
    """The file itself lies where no sandbox shows it."""
    async with reaching(den, tmp_path, "NODE_EXTRA_CA_CERTS", **special) as site:
        argv = (str(NODE), "-e", FETCH, *both(site))
        ended = await den.run(argv, read_roots=(str(CHECKOUT),))
        assert ended.stdout == "hello\nhello\n", ended.stderr


@pytest.mark.parametrize("special", [{}, {"inject": "env:TOKEN"}], ids=["tunnels", "looked into"])
async def test_python_believes_whom_its_person_believes(
    den: Den, tmp_path: Path, special: dict[str, Any]
) -> None:
    async with reaching(den, tmp_path, "SSL_CERT_FILE", **special) as site:
        ended = await den.python(PYTHON, *both(site))
        assert ended.stdout == "hello\nhello\n", ended.stderr


def test_of_a_file_only_its_certificates_are_shown(tmp_path: Path) -> None:
    """Whoever sets a variable may name any file, and a sandbox must not be shown it."""
    authority = Authority(tmp_path)
    authority.context("api.test")
    both = (tmp_path / "api.test.pem").read_bytes()
    assert b"PRIVATE KEY" in both
    shown = certificates_in(str(tmp_path / "api.test.pem"))
    assert b"PRIVATE" not in shown
    assert shown.count(b"BEGIN CERTIFICATE") == 1
    (tmp_path / "secret").write_text("canary")
    for nothing in ("secret", "absent", "."):
        assert certificates_in(str(tmp_path / nothing)) == b""


async def test_a_server_with_chosen_hosts_is_told_of_them(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, daemon=False)
    authority = Authority(tmp_path)
    workspace.env["REQUESTS_CA_BUNDLE"] = str(authority.file)
    workspace.env["NODE_USE_SYSTEM_CA"] = "1"
    entry = server(
        child_command("echo_child"), egress=["api.test"], read_roots=[str(CHECKOUT)], scope="user"
    )
    workspace.mcp_json({"echo": entry}, scope="home")
    done = await asyncio.to_thread(switchboard, workspace, "call", "echo", "report", "--in-process")
    assert done.code == 0, done.err
    env = json.loads(done.out)["env"]
    assert env["REQUESTS_CA_BUNDLE"] == "/run/switchboard-requests-ca-bundle.pem"
    assert env["NODE_USE_SYSTEM_CA"] == "1"


async def test_the_hint_names_what_is_not_on_the_list() -> None:
    """The host is on it; where it leads is not."""
    async with way_out(["api.test:80"], FakeResolver(api_test="127.0.0.1")) as out:
        async with httpx.AsyncClient(proxy=out.url) as client:
            refused = await client.get("http://api.test/")
        assert refused.status_code == 403
        fault = out.way_out.refused()
        assert fault is not None
        assert '"127.0.0.1" has to be on the list, too' in fault.message
        assert fault.hint.endswith(": 127.0.0.1:80")
        assert [each.address for each in out.record.rows()] == ["127.0.0.1"]
