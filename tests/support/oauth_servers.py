"""A real authorization server, an MCP server that wants its tokens, and a browser for both."""

import asyncio
import json
import os
import re
import socket
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urljoin

import httpx2

from conformance.suite import node
from support.workspace import CHECKOUT, Json

_PROGRAM = CHECKOUT / "tests" / "node" / "oauth_server.mjs"
_FORM = re.compile(r'<form[^>]*action="([^"]*)"[^>]*>(.*?)</form>', re.DOTALL)
_INPUT = re.compile(r'<input[^>]*name="([^"]*)"(?:[^>]*value="([^"]*)")?')
PATIENCE = 60.0
_MOST_PAGES = 12


class OAuthServers:
    """Both servers, and what they said."""

    def __init__(self, process: Process, port: int, mcp_port: int) -> None:
        self._process = process
        self.issuer = f"http://127.0.0.1:{port}"
        self.url = f"http://127.0.0.1:{mcp_port}/mcp"
        self.said: list[Json] = []
        self._news = asyncio.Event()
        self._reading = asyncio.ensure_future(self._read())

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            if line.startswith(b"{"):
                self.said.append(json.loads(line))
                self._news.set()

    def those(self, did: str, **more: Any) -> list[Json]:
        """What it did of a kind."""
        return [
            each
            for each in self.said
            if each["did"] == did and all(each.get(key) == value for key, value in more.items())
        ]

    async def until(self, did: str, count: int = 1, **more: Any) -> None:
        """Wait until it has done something so often."""
        async with asyncio.timeout(PATIENCE):
            while len(self.those(did, **more)) < count:
                self._news.clear()
                await self._news.wait()

    async def change(self, **behaviour: Any) -> None:
        """Have it behave in another way from now on."""
        assert self._process.stdin is not None
        before = len(self.those("changed"))
        self._process.stdin.write(json.dumps(behaviour).encode() + b"\n")
        await self.until("changed", before + 1)

    async def aclose(self) -> None:
        self._process.kill()
        await self._process.wait()
        await self._reading


@asynccontextmanager
async def oauth_servers(**given: Any) -> AsyncGenerator[OAuthServers]:
    """Both servers on this machine. `ttl` is how long an access token lasts."""
    ports = _free_ports(2)
    told = {"port": ports[0], "mcpPort": ports[1], **given}
    process = await asyncio.create_subprocess_exec(
        *(node(), str(_PROGRAM), json.dumps(told)),
        stdin=PIPE,
        stdout=PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={"PATH": os.environ["PATH"]},
    )
    servers = OAuthServers(process, *ports)
    try:
        await servers.until("listen")
        yield servers
    finally:
        await servers.aclose()


def _free_ports(count: int) -> list[int]:
    probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports: list[int] = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


async def log_in_at(url: str, *, user: str = "ada", stop_at: str = "/callback") -> str:
    """Do what a person does at the pages of the server; gives the address that it leads back to.

    That address is not visited.
    """
    async with httpx2.AsyncClient(follow_redirects=False, trust_env=False) as browser:
        response = await browser.get(url)
        for _ in range(_MOST_PAGES):
            if response.has_redirect_location:
                target = urljoin(str(response.url), response.headers["location"])
                if stop_at and stop_at in target.partition("?")[0]:
                    return target
                response = await browser.get(target)
                continue
            form = _FORM.search(response.text)
            if form is None:
                return str(response.url)
            fields = dict(_INPUT.findall(form[2]))
            if "login" in fields:
                fields |= {"login": user, "password": "any"}
            response = await browser.post(urljoin(str(response.url), form[1]), data=fields)
    raise AssertionError(f"the pages have no end; the last one was {response.url}")


async def browse(url: str, *, user: str = "ada") -> int:
    """Log in, and go back to where the server leads; gives the status there."""
    target = await log_in_at(url, user=user)
    async with httpx2.AsyncClient(trust_env=False) as browser:
        return (await browser.get(target)).status_code
