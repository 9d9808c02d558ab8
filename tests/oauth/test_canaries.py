"""Secrets of every kind in one running daemon: who has them, and where they are not."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from oauth.kept_logins import store_of
from support.canaries import MARKER, leaks_below
from support.daemons import daemon_pid
from support.logging_in import ended, log_in, ran, started
from support.oauth_servers import oauth_servers
from support.processes import descendants_of
from support.workspace import Workspace, child_command, server
from switchboard.children.schema import OAuth, ServerEntry
from switchboard.oauth.grant import entry_reference
from vault.remote import header_server

ENV = "canary-of-a-variable-3141"
HEADER = "canary-of-a-header-2718"
CLIENT = "canary-of-a-client-1618"


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    made = Workspace(tmp_path, daemon=True)
    made.config_toml('[vault]\nkey = "own-key-file"\n', scope="home")
    yield made
    made.stop_daemon()


async def put(workspace: Workspace, reference: str, value: str) -> None:
    done = await ended(await started(workspace, "vault", "put", reference), pasted=value)
    assert done.code == 0, done.stderr


@pytest.mark.timeout(120)
async def test_planted_secrets_are_where_they_belong_and_nowhere_else(
    workspace: Workspace, tmp_path: Path
) -> None:
    with header_server() as keyed:
        async with oauth_servers(secret=CLIENT) as servers:
            auth = OAuth(
                client_id="secret-client",
                client_secret_ref="vault:mcp/notes/oauth/client-secret",
                issuer_url=servers.issuer,
            )
            told = {
                "type": "oauth2_pkce",
                "client_id": auth.client_id,
                "client_secret_ref": auth.client_secret_ref,
                "issuer_url": auth.issuer_url,
            }
            given = {"TOKEN": "vault:mcp/given/env/TOKEN"}
            workspace.mcp_json(
                {
                    "given": server(child_command("echo_child"), secret_env=given),
                    "plain": server(child_command("echo_child")),
                    "keyed": {
                        "url": keyed.url,
                        "headers": {"X-Api-Key": "vault:mcp/keyed/header/X-Api-Key"},
                    },
                    "notes": {"url": servers.url, "auth": told},
                },
                scope="home",
            )
            await put(workspace, "mcp/given/env/TOKEN", ENV)
            await put(workspace, "mcp/keyed/header/X-Api-Key", HEADER)
            await put(workspace, "mcp/notes/oauth/client-secret", CLIENT)
            assert (await log_in(workspace, "notes")).code == 0
            said = ""
            for name, tool in (("plain", "echo"), ("keyed", "echo"), ("notes", "whoami")):
                done = await ran(workspace, "call", name, tool, "--json")
                said += done.stdout + done.stderr
            # Its own word is not ours to keep back: it is what the server was given it for.
            assert ENV in (await ran(workspace, "call", "given", "report")).stdout
            assert any(HEADER in each.values() for each in keyed.all)

            daemon = daemon_pid(workspace)
            holders = await asyncio.to_thread(_holders, [daemon, *descendants_of(daemon)])
            assert holders == {ENV: 1}

            for words in (
                *(("status", "--json"), ("doctor", "--json"), ("vault", "list", "--json")),
                *(
                    ("mcp", "auth", "status", "--json"),
                    ("events", "--last", "500"),
                    ("list", "--json"),
                ),
                *(
                    ("audit", "export"),
                    ("config", "explain"),
                    ("daemon", "logs", "--lines", "5000"),
                ),
            ):
                done = await ran(workspace, *words)
                said += done.stdout + done.stderr
            entry = ServerEntry(name="notes", transport="http", url=servers.url, auth=auth)
            grant = store_of(workspace).find(entry_reference(entry))
            assert grant is not None
            workspace.stop_daemon()
            written = await asyncio.to_thread(_written, tmp_path)
            for token in (grant.access_token, grant.refresh_token):
                assert token not in said
                assert token.encode() not in written
            assert MARKER.decode() not in said
            assert list(leaks_below(tmp_path)) == []
            # The calls and the login did leave a trail.
            assert "login.made" in said


def _written(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def _holders(pids: list[int]) -> dict[str, int]:
    """How many processes show each secret in their words or variables."""
    found: dict[str, int] = {}
    for pid in pids:
        shown = b"".join(
            Path(f"/proc/{pid}/{name}").read_bytes() for name in ("cmdline", "environ")
        )
        for secret in (ENV, HEADER, CLIENT):
            if secret.encode() in shown:
                found[secret] = found.get(secret, 0) + 1
    return found
