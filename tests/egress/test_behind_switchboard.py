"""Servers and command tools with chosen hosts behind a daemon: real programs, over the wire."""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from cli.commands import switchboard
from egress.world import SECRET, Site, ok
from support.authority import Authority
from support.mcp_stdio import StdioClient, talking_to, text_of
from support.requirements import requirement
from support.workspace import CHECKOUT, SCRIPTS, Workspace, server

PAGE = "<html><body><p>the page of the day</p></body></html>"


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Workspace]:
    made = Workspace(tmp_path, daemon=True)
    yield made
    made.stop_daemon()


@asynccontextmanager
async def board(workspace: Workspace) -> AsyncGenerator[StdioClient]:
    command = workspace.command("mcp")
    async with talking_to(command, cwd=workspace.root, env=workspace.env, patience=60) as client:
        await client.initialize()
        yield client


def fetch(site: Site, *more: str, **fields: Any) -> dict[str, Any]:
    """The reference server `fetch`, as it is published."""
    hosts = {f"localhost:{site.port}": {"methods": ["GET"], "inject": "env:SITE_TOKEN"}}
    return server(
        [SCRIPTS / "mcp-server-fetch", "--ignore-robots-txt", "--allow-private-ips", *more],
        # Without a `node` in sight: with one its reader of pages runs `npm install` at the first
        # page, unless somebody did so before.
        env={"PATH": str(SCRIPTS)},
        **{"egress": hosts, "read_roots": [str(CHECKOUT)], **fields},
    )


@requirement("S3.44", "S3.97")
async def test_the_reference_server_fetch_reaches_its_host_and_no_other(
    shared: Workspace, tmp_path: Path
) -> None:
    authority = Authority(tmp_path)
    async with Site().open(authority.context("localhost")) as site:
        site.answer = lambda head: ok(PAGE.encode() + head, "Content-Type: text/html")
        shared.env |= {"SSL_CERT_FILE": str(authority.file), "SITE_TOKEN": SECRET}
        shared.mcp_json({"fetch": fetch(site)}, scope="home")
        async with board(shared) as client:
            url = f"https://localhost:{site.port}/"
            answer = text_of(await client.call_subtool("fetch_suite", "fetch", {"url": url}))
            assert "the page of the day" in answer
            assert SECRET not in answer
            assert f"Bearer {SECRET}".encode() in site.requests[0]
            refused = await client.call_subtool(
                "fetch_suite", "fetch", {"url": "https://evil.test/"}
            )
            assert "egress-refused" in json.dumps(refused)
            told = await asyncio.to_thread(switchboard, shared, "egress", "fetch", "--json")
            rows = {each["host"]: each for each in told.report["hosts"]}
            assert rows["localhost"]["outcome"] == "reached"
            assert rows["localhost"]["bytes_down"] > len(PAGE)
            assert rows["evil.test"]["outcome"] == "refused"
            doctor = await asyncio.to_thread(switchboard, shared, "doctor")
            assert "egress-refused: it wanted evil.test:443" in doctor.out
            events = await asyncio.to_thread(switchboard, shared, "events", "--last", "50")
            assert "EgressRefused" in events.out.replace("egress_refused", "EgressRefused")
            assert SECRET not in doctor.out + events.out + told.out
            await client.close()


async def test_a_host_is_asked_about_and_never_means_never(shared: Workspace) -> None:
    """Of a host that is not listed a person is asked, and no client that is served is one."""
    async with Site().open() as site, Site().open() as other:
        entry = fetch(site, egress=[f"localhost:{site.port}"], egress_ask=True)
        shared.mcp_json({"fetch": entry}, scope="home")
        wanted = {"url": f"http://localhost:{other.port}/"}
        async with board(shared) as client:
            calling = asyncio.ensure_future(client.call_subtool("fetch_suite", "fetch", wanted))
            question = await _question(shared)
            assert f"localhost:{other.port}" in question["what"]
            answer = ("approvals", "approve", question["id"], "--always", "--yes")
            said = await asyncio.to_thread(switchboard, shared, *answer)
            assert "cannot answer itself" in said.err
            answer = ("approvals", "deny", question["id"], "--always")
            await asyncio.to_thread(switchboard, shared, *answer)
            assert "403" in json.dumps(await calling)
            again = await client.call_subtool("fetch_suite", "fetch", wanted)
            assert "403" in json.dumps(again)
            shown = await asyncio.to_thread(switchboard, shared, "egress", "fetch")
            assert f"fetch may never reach localhost:{other.port}" in shown.out
            await client.close()
        assert other.requests == []


async def _question(workspace: Workspace) -> dict[str, Any]:
    for _ in range(100):
        found = await asyncio.to_thread(switchboard, workspace, "approvals", "--json")
        if approvals := found.report["approvals"]:
            return approvals[0]
        await asyncio.sleep(0.1)
    raise AssertionError("nobody was asked")
