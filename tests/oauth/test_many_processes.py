"""Many processes, one login, and a server that ends logins when a token comes twice."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

import pytest

from oauth.kept_logins import expire, kept, workspace_with_login_at
from support.logging_in import log_in, ran
from support.oauth_servers import oauth_servers
from support.workspace import CHECKOUT, Workspace
from switchboard.children.schema import ServerEntry
from switchboard.oauth.addresses import rules_for
from switchboard.oauth.http.guarded_web import GuardedWeb
from switchboard.oauth.token_endpoint import TokenEndpoint, TokenRefused

pytestmark = pytest.mark.timeout(240)
PROGRAM = CHECKOUT / "tests" / "oauth" / "renewing_process.py"
PROCESSES = 8
PATIENCE = 120.0


async def test_eight_processes_with_one_expired_login_renew_it_once(tmp_path: Path) -> None:
    async with oauth_servers() as servers:
        workspace = workspace_with_login_at(tmp_path, servers.url, daemon=False)
        assert (await log_in(workspace, "notes")).code == 0
        old = expire(workspace, servers.url)
        processes = await asyncio.gather(
            *(_process(workspace, servers.url) for _ in range(PROCESSES))
        )
        # All at once.
        for process in processes:
            assert process.stdin is not None
            process.stdin.write(b"now\n")
        said = await asyncio.gather(*map(_said, processes))
        assert len(set(said)) == 1, said
        assert not said[0].startswith("fault")
        assert len(servers.those("grant", type="refresh_token")) == 1
        assert servers.those("refusal") == []
        assert servers.those("grant-revoked") == []
        assert kept(workspace, servers.url).refresh_token != old.refresh_token
        # The server does end everything when a token comes twice, so the above means something.
        entry = ServerEntry(name="notes", transport="http", url=servers.url)
        web = GuardedWeb(rules_for(entry), {})
        endpoint = TokenEndpoint(old.token_url, old.client(""), old.key.resource, web)
        with pytest.raises(TokenRefused) as refused:
            await endpoint.refresh(old.refresh_token)
        await web.aclose()
        assert refused.value.is_final
        await servers.until("grant-revoked")


async def test_a_daemon_that_restarts_with_an_expired_token_needs_no_browser(
    tmp_path: Path,
) -> None:
    async with oauth_servers() as servers:
        workspace = workspace_with_login_at(tmp_path, servers.url, daemon=True)
        try:
            assert (await log_in(workspace, "notes")).code == 0
            first = await ran(workspace, "call", "notes", "whoami")
            assert first.stdout == "logged in as ada\n", first.stderr
            await ran(workspace, "daemon", "stop")
            old = expire(workspace, servers.url)
            again = await ran(workspace, "call", "notes", "whoami")
            assert again.stdout == "logged in as ada\n", again.stderr
            assert len(servers.those("grant", type="refresh_token")) == 1

            # The server is overloaded: nothing is lost, and nobody is asked to log in.
            expire(workspace, servers.url)
            await servers.change(tokenStatus=503)
            for _ in range(2):
                busy = await ran(workspace, "call", "notes", "whoami", "--json")
                assert json.loads(busy.stdout)["reason"] == "login-not-renewed"
                assert "canary" not in busy.stdout + busy.stderr
            assert len(servers.those("token-request")) == 1
            await servers.change(tokenStatus=0)
            status = json.loads((await ran(workspace, "mcp", "auth", "status", "--json")).stdout)
            assert "HTTP status 503" in status["logins"][0]["last_error"] or (
                "server_error" in status["logins"][0]["last_error"]
            )
            log = (await ran(workspace, "audit", "export")).stdout
            records = [json.loads(line)["record"] for line in log.splitlines()]
            told = [each for each in records if each["event"].startswith("login.")]
            assert [each["event"] for each in told] == [
                *("login.made", "login.renewed", "login.renewal_failed")
            ]
            # Each by who did it: the command, then the daemon.
            assert told[0]["pid"] != told[1]["pid"] == told[2]["pid"]
            new = kept(workspace, servers.url)
            written = _everything_written(workspace)
            for token in (old.access_token, old.refresh_token, new.access_token, new.refresh_token):
                assert token not in written
        finally:
            workspace.stop_daemon()


def _everything_written(workspace: Workspace) -> str:
    paths = [path for path in workspace.user_home.rglob("*") if path.is_file()]
    return "\n".join(path.read_bytes().decode("utf-8", "replace") for path in paths)


async def _process(workspace: Workspace, url: str) -> Process:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(PROGRAM), str(workspace.home), url),
        stdin=PIPE,
        stdout=PIPE,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT / "tests")},
    )
    assert await _line(process) == "ready"
    return process


async def _line(process: Process) -> str:
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE):
        return (await process.stdout.readline()).decode().strip()


async def _said(process: Process) -> str:
    said = await _line(process)
    async with asyncio.timeout(PATIENCE):
        await process.wait()
    return said
