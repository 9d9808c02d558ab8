"""Commands of Switchboard that log in, and the person who does it."""

import asyncio
from asyncio.subprocess import PIPE, Process
from typing import NamedTuple

from support.oauth_servers import browse
from support.workspace import Workspace

PATIENCE = 60.0


class PageMissingError(Exception):
    """A login that ended before it named a page."""


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    stdout: str
    stderr: str


async def started(workspace: Workspace, *words: str, **env: str) -> Process:
    return await asyncio.create_subprocess_exec(
        *workspace.command(*words),
        cwd=workspace.root,
        env={**workspace.env, **env},
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
    )


async def ended(process: Process, pasted: str = "") -> Ended:
    async with asyncio.timeout(PATIENCE):
        stdout, stderr = await process.communicate(f"{pasted}\n".encode() if pasted else None)
    assert process.returncode is not None
    return Ended(process.returncode, stdout.decode(), stderr.decode())


async def ran(workspace: Workspace, *words: str, **env: str) -> Ended:
    """Run a command to its end."""
    return await ended(await started(workspace, *words, **env))


async def page_of(process: Process) -> str:
    """The page that a login says to open."""
    assert process.stderr is not None
    said = ""
    async with asyncio.timeout(PATIENCE):
        while line := (await process.stderr.readline()).decode():
            if line.strip().startswith(("http://", "https://")):
                return line.strip()
            said += line
    raise PageMissingError(said)


async def log_in(workspace: Workspace, name: str, *words: str, user: str = "ada") -> Ended:
    """Log in as a person does who opens the page by hand."""
    process = await started(workspace, "login", name, "--no-browser", *words)
    assert await browse(await page_of(process), user=user) == 200
    return await ended(process)
