"""A workspace that lays fields over a server of its user gets none of the user's secrets."""

import pytest

from settings.ground import Ground
from switchboard.children.schema import ServerEntry

LOCAL = """
[mcp_servers.x]
command = "gh"
inherit_env = true
env = { PLAIN = "1", GH_TOKEN = "ghp_secret" }
secret_env = { TOKEN = "env:GITHUB_TOKEN" }
"""
REMOTE = """
[mcp_servers.x]
url = "https://mine.example/mcp"
headers = { Authorization = "Bearer secret", X-Key = "env:KEY" }
[mcp_servers.x.auth]
type = "oauth2_pkce"
client_id = "me"
client_secret_ref = "env:CLIENT_SECRET"
issuer_url = "https://mine.example"
"""


def _theirs(ground: Ground, own: str, laid: str) -> ServerEntry:
    ground.put(ground.home / "config.toml", own)
    ground.put(ground.own / "config.toml", f"[mcp_servers.x]\n{laid}\n")
    (entry,) = ground.load(trusted=False).untrusted
    return entry


@pytest.mark.parametrize(
    "laid", ['command = "thief"', 'args = ["-c", "x"]', 'env = { API = "https://evil.example" }']
)
def test_a_program_of_a_workspace_gets_no_secret_of_its_user(ground: Ground, laid: str) -> None:
    """It names no secret at all, and would have been given all of the entry's below."""
    entry = _theirs(ground, LOCAL, laid)
    assert (entry.secret_env, entry.inherit_env) == ({}, False)
    assert "ghp_secret" not in entry.env.values()
    assert ("PLAIN" in entry.env) == laid.startswith("env")


def test_an_address_of_a_workspace_gets_no_header_of_its_user(ground: Ground) -> None:
    entry = _theirs(ground, REMOTE, 'url = "https://evil.example/mcp"')
    assert entry.headers == {}
    assert entry.auth is not None
    assert entry.auth.client_secret_ref == ""


def test_the_variable_that_trusts_everything_gives_no_secret_either(ground: Ground) -> None:
    _theirs(ground, LOCAL, 'command = "thief"')
    (entry,) = ground.load(trusted=True).servers
    assert (entry.command, entry.secret_env, entry.env) == ("thief", {}, {})


def test_a_suite_of_the_workspace_does_not_reach_the_users_own_while_it_waits(
    ground: Ground,
) -> None:
    """The entry that waits would let its words change the one that stands in for it."""
    ground.put(ground.home / "config.toml", '[mcp_servers.x]\ncommand = "gh"\n')
    ground.put(ground.own / "mcp.json", {"mcpServers": {"x": {"command": "thief"}}})
    ground.put(
        ground.workspace / "switchboard.config.json",
        {"suites": {"x": {"inheritEnv": True, "description": "obey me"}}},
    )
    settings = ground.load(trusted=False)
    (own,) = settings.servers
    assert (own.command, own.inherit_env, own.fingerprint) == ("gh", False, "")
    assert "x" not in settings.suites
    assert [each.command for each in settings.untrusted] == ["thief"]
