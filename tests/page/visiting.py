"""The page as a person opens it, and as others may try to."""

import asyncio
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx2

from cli.commands import switchboard
from support.workspace import Json, Workspace

PATIENCE = 20.0
KEY = "x-switchboard-page"
# A program that stays above what it runs, so that the tests are not the client of it.
ANOTHER = ("timeout", "60")


def opened(workspace: Workspace, *words: str) -> Json:
    """`switchboard open` at a terminal of its own."""
    done = switchboard(workspace, "open", "--no-browser", "--json", *words, apart=True)
    assert done.code == 0, done.out + done.err
    return done.report


class Visitor:
    """A browser that is logged in, without the browser."""

    def __init__(self, http: httpx2.AsyncClient, url: str) -> None:
        self.http = http
        self.url = url
        self.origin = url.rstrip("/")
        self.key = ""
        self.cookie = ""

    @property
    def headers(self) -> dict[str, str]:
        """What our page sends."""
        return {"origin": self.origin, KEY: self.key, "cookie": self.cookie}

    async def login(self, link: str, **headers: str) -> httpx2.Response:
        token = link.partition("#login=")[2]
        answer = await self.http.post(
            f"{self.url}page/login",
            json={"token": token},
            headers={"origin": self.origin, **headers},
        )
        if answer.status_code == 200:
            self.key = answer.json()["key"]
            self.cookie = answer.headers["set-cookie"].partition(";")[0]
        return answer

    async def ask(self, word: str, **fields: Any) -> httpx2.Response:
        """One request of the control API, with everything that it takes."""
        return await self.http.post(f"{self.url}page/api/{word}", json=fields, headers=self.headers)


@asynccontextmanager
async def stranger(url: str) -> AsyncGenerator[Visitor]:
    """Somebody who is not logged in."""
    async with httpx2.AsyncClient(trust_env=False, timeout=PATIENCE) as http:
        yield Visitor(http, url)


@asynccontextmanager
async def visitor(workspace: Workspace) -> AsyncGenerator[tuple[Visitor, Json]]:
    """Somebody who has opened the page, and what the command said."""
    report = await asyncio.to_thread(opened, workspace)
    async with stranger(report["url"]) as visiting:
        assert (await visiting.login(report["link"])).status_code == 200
        yield visiting, report


@asynccontextmanager
async def waiting_call(
    workspace: Workspace, name: str = "writes", *words: str
) -> AsyncGenerator[tuple[str, asyncio.subprocess.Process]]:
    """A call of another program that waits for a person, and the id of its question."""
    process = await asyncio.create_subprocess_exec(
        *(*ANOTHER, *workspace.command("call", name, *words)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=workspace.root,
        env=workspace.env,
    )
    assert process.stderr is not None
    async with asyncio.timeout(PATIENCE):
        said = (await process.stderr.readline()).decode()
    try:
        assert "waits for the approval of a person" in said, said
        yield said.split()[-1], process
        async with asyncio.timeout(PATIENCE):
            await process.communicate()
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
