"""Servers that start a browser, confined, with Debian's Chromium: `make browser`."""

import asyncio
import json
import re
import shutil
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from cli.commands import switchboard
from egress.world import Site, ok
from support.mcp_stdio import StdioClient, talking_to, text_of
from support.processes import mentioning, wait_until_none_mention
from support.requirements import requirement
from support.workspace import CHECKOUT, Json, Workspace, server

PACKAGES = CHECKOUT / "tests" / "node" / "browser" / "node_modules"
CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
PAGE = b"<title>Of the day</title><h1>the page of the day</h1><button>Press me</button>"
PROXY = "http://127.0.0.1:3128"

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Workspace]:
    made = Workspace(tmp_path, daemon=True)
    yield made
    made.stop_daemon()
    wait_until_none_mention(str(tmp_path))


@asynccontextmanager
async def board(workspace: Workspace) -> AsyncGenerator[StdioClient]:
    command = workspace.command("mcp")
    async with talking_to(command, cwd=workspace.root, env=workspace.env, patience=120) as client:
        await client.initialize()
        yield client


def confined(script: str, *words: str, port: int, **more: Any) -> Json:
    """A server that starts a browser, with one host to reach."""
    fields = {
        "sandbox_profile": "default",
        "sandbox_features": ["browser"],
        "egress": [f"localhost:{port}"],
        "read_roots": [str(PACKAGES)],
    }
    return server(["node", PACKAGES / script, *words], **{**fields, **more})


def playwright(port: int, **more: Any) -> Json:
    words = ("--headless", "--no-sandbox", "--isolated", "--executable-path", CHROMIUM)
    script = "@playwright/mcp/cli.js"
    return confined(script, *words, "--proxy-server", PROXY, port=port, **more)


def devtools(port: int, **more: Any) -> Json:
    words = [f"--executablePath={CHROMIUM}", "--headless", "--isolated", "--no-usage-statistics"]
    words += [f"--proxyServer={PROXY}", "--chromeArg=--no-sandbox"]
    # A browser takes no proxy for what is on its own machine, unless it is told to.
    words += ["--chromeArg=--proxy-bypass-list=<-loopback>"]
    script = "chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js"
    return confined(script, *words, port=port, **more)


async def call(client: StdioClient, suite: str, tool: str, **arguments: Any) -> str:
    return text_of(await client.call_subtool(f"{suite}_suite", tool, arguments))


@requirement("S3.38", "S3.97")
async def test_playwright_opens_a_page_and_takes_a_snapshot_confined(shared: Workspace) -> None:
    async with Site().open() as site:
        site.answer = lambda _: ok(PAGE, "Content-Type: text/html")
        shared.mcp_json({"web": playwright(site.port)}, scope="home")
        async with board(shared) as client:
            url = f"http://localhost:{site.port}/"
            await call(client, "web", "browser_navigate", url=url)
            seen = await call(client, "web", "browser_snapshot")
            assert "the page of the day" in seen
            assert "Press me" in seen
            assert mentioning(CHROMIUM)
            assert any(b"Chrome" in each for each in site.requests)
            elsewhere = await call(client, "web", "browser_navigate", url="http://evil.test/")
            assert "the page" not in elsewhere
            told = await asyncio.to_thread(switchboard, shared, "egress", "web", "--json")
            rows = {each["host"]: each["outcome"] for each in told.report["hosts"]}
            assert (rows["localhost"], rows["evil.test"]) == ("reached", "refused")


async def test_without_the_feature_the_browser_does_not_start(shared: Workspace) -> None:
    async with Site().open() as site:
        site.answer = lambda _: ok(PAGE, "Content-Type: text/html")
        shared.mcp_json({"web": playwright(site.port, sandbox_features=[])}, scope="home")
        async with board(shared) as client:
            url = f"http://localhost:{site.port}/"
            answer = await call(client, "web", "browser_navigate", url=url)
            assert "Address family not supported" in answer or "process_singleton" in answer
            assert not site.requests


@requirement("S3.38", "S3.97")
async def test_chrome_devtools_opens_a_page_and_takes_a_snapshot_confined(
    shared: Workspace,
) -> None:
    async with Site().open() as site:
        site.answer = lambda _: ok(PAGE, "Content-Type: text/html")
        shared.mcp_json({"web": devtools(site.port)}, scope="home")
        async with board(shared) as client:
            made = await call(client, "web", "new_page", url=f"http://localhost:{site.port}/")
            # Each page stands in a line with its number: the new one is the selected one.
            [number] = re.findall(
                r"(\d+): [^\n]*\[selected\]", json.loads(made)["content"][0]["text"]
            )
            seen = await call(client, "web", "take_snapshot", pageId=int(number))
            assert "the page of the day" in seen
            assert any(b"Chrome" in each for each in site.requests)
