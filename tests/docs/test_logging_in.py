"""What docs/login.md and docs/accounts.md type and show, at a real authorization server."""

import asyncio
import re
import shlex
from collections.abc import AsyncGenerator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from docs.pages import blocks_of
from docs.story import Story
from support.logging_in import ended, page_of, ran, started
from support.oauth_servers import OAuthServers, browse, oauth_servers

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
async def servers() -> AsyncGenerator[OAuthServers]:
    async with oauth_servers(secret="canary-secret-of-the-client") as running:
        yield running


@pytest.fixture
async def story() -> AsyncGenerator[Story]:
    # Short, so that the socket lies in the home as it does for users.
    with TemporaryDirectory(prefix="sb-", ignore_cleanup_errors=True) as folder:
        told = Story(Path(folder), daemon=True)
        told.workspace.env = told.env
        yield told
        await asyncio.to_thread(told.workspace.stop_daemon)


async def typed(story: Story, line: str) -> tuple[int, str]:
    """Type a line; where it logs in, a person opens the page. Its exit code, and all it said."""
    _, *words = shlex.split(line, comments=True)
    if words[:3] != ["mcp", "auth", "login"]:
        done = await ran(story.workspace, *words)
        return done.code, done.stdout + done.stderr
    process = await started(story.workspace, *words, "--no-browser")
    page = await page_of(process)
    assert await browse(page) == 200
    done = await ended(process)
    return done.code, f"{page}\n{done.stdout}{done.stderr}"


async def test_each_account_is_logged_in_to_by_itself(story: Story, servers: OAuthServers) -> None:
    file, commands = blocks_of("docs/accounts.md")
    own = {"https://github.example/mcp": servers.url, "https://login.example": servers.issuer}
    story.put(file, own | {'"client_id": "switchboard"': '"client_id": "public-client"'})
    codes = [(await typed(story, line))[0] for line in commands.commands]
    assert codes == [0, 0, 0, 0]
    left = await ran(story.workspace, "mcp", "auth", "status", "github")
    assert re.search(r"\bme\b.*\bnone\b", left.stdout), left.stdout


async def test_a_login_shows_what_the_page_says(story: Story, servers: OAuthServers) -> None:
    shown, file, *_ = blocks_of("docs/login.md")
    story.put(file, {"https://notes.example/mcp": servers.url})
    command, *lines = shown.text.splitlines()
    code, said = await typed(story, command.removeprefix("$ "))
    assert code == 0, said
    # What only the server decides differs; the words in front of it do not.
    for line in lines[3:]:
        head = re.match(r"logged in to notes|\w+  +", line)
        assert head, line
        assert head[0] in said, said
    assert ", and is renewed" in lines[-1]
    assert ", and is renewed" in said
