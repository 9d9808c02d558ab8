"""A process that is killed between the answer of a token endpoint and the write of the token."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest

from oauth.kept_logins import expire, kept, workspace_with_login_at
from support.daemons import daemon_pid
from support.logging_in import PATIENCE, ended, log_in, ran, started
from support.oauth_servers import OAuthServers, oauth_servers
from support.workspace import Workspace
from switchboard.vault.opening import open_vault, vault_folder
from switchboard.vault.options import VaultOptions
from switchboard.vault.vault_file import LOCK, VaultFile

pytestmark = pytest.mark.timeout(180)
OTHER = "mcp/other/env/TOKEN"


@pytest.fixture
async def servers() -> AsyncGenerator[OAuthServers]:
    async with oauth_servers() as running:
        yield running


@pytest.fixture
def workspace(tmp_path: Path, servers: OAuthServers) -> Iterator[Workspace]:
    made = workspace_with_login_at(tmp_path, servers.url, daemon=True)
    yield made
    made.stop_daemon()


async def test_a_kill_between_answer_and_write_costs_at_most_another_login(
    servers: OAuthServers, workspace: Workspace
) -> None:
    open_vault(str(workspace.home), VaultOptions(key="own-key-file"), {}).put(OTHER, "still here")
    assert (await log_in(workspace, "notes")).code == 0
    assert (await ran(workspace, "call", "notes", "whoami")).stdout == "logged in as ada\n"

    # A server that takes the old refresh token once more: nobody notices.
    await servers.change(rotates=False)
    old = await killed_while_renewing(servers, workspace)
    assert kept(workspace, servers.url).refresh_token == old
    again = await ran(workspace, "call", "notes", "whoami")
    assert again.stdout == "logged in as ada\n", again.stderr

    # One that ends everything when a token comes twice: the one command, and all is well.
    await servers.change(rotates=True)
    old = await killed_while_renewing(servers, workspace)
    assert kept(workspace, servers.url).refresh_token == old
    for _ in range(2):
        refused = await ran(workspace, "call", "notes", "whoami", "--json")
        error = json.loads(refused.stdout)
        assert (error["code"], error["reason"]) == ("unauthenticated", "login-required")
        assert error["hint"] == "switchboard mcp auth login notes"
    assert len(servers.those("refusal")) == 1
    assert (await log_in(workspace, "notes", user="bob")).code == 0
    assert (await ran(workspace, "call", "notes", "whoami")).stdout == "logged in as bob\n"
    # What else lies in the vault was never in danger.
    assert open_vault(str(workspace.home), VaultOptions(), {}).get(OTHER) == "still here"


async def killed_while_renewing(servers: OAuthServers, workspace: Workspace) -> str:
    """Kill the daemon with the answer in its hands; gives the refresh token from before."""
    old = expire(workspace, servers.url)
    pid = daemon_pid(workspace)
    renewals = len(servers.those("grant", type="refresh_token"))
    folder = vault_folder(str(workspace.home))
    # Whoever wants to write the vault has to wait.
    with VaultFile(folder).writing():
        call = await started(workspace, "call", "notes", "whoami")
        await servers.until("grant", renewals + 1, type="refresh_token")
        async with asyncio.timeout(PATIENCE):
            while f"{folder}/{LOCK}" not in _open_files(pid):  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.01)
        os.kill(pid, signal.SIGKILL)
        lost = await ended(call)
    assert lost.code != 0
    assert "logged in as" not in lost.stdout
    return old.refresh_token


def _open_files(pid: int) -> set[str]:
    found: set[str] = set()
    for entry in os.scandir(f"/proc/{pid}/fd"):
        try:
            found.add(os.readlink(entry.path))  # noqa: PTH115 - it is no path of a file
        except FileNotFoundError:
            continue
    return found
