"""Whose word it is which accounts a server has. Mistakes in them are in `golden/accounts.txt`."""

import pytest

from settings.ground import Ground
from switchboard.children.schema import Account, OAuth
from switchboard.children.secrets.texts import references_of
from switchboard.config.problems import ConfigInvalid
from switchboard.core.origins import Origin
from switchboard.settings.freeze import entry_from_fields, fields_from_entry
from switchboard.settings.scopes.session_servers import servers_in_scope

TOML = """
[mcp_servers.far]
url = "https://far.example/mcp"
[mcp_servers.far.accounts.work]
match = ["remote:github.com/acme/*", "dir:~/acme/**"]
[mcp_servers.far.accounts.work.auth]
type = "oauth2_pkce"
client_id = "${CLIENT}"
issuer_url = "https://login.example"
client_secret_ref = "vault:mcp/far/oauth/work/client-secret"
[mcp_servers.far.accounts.me]
default = true
"""
WORK = Account(
    name="work",
    auth=OAuth(
        client_id="me-and-you",
        issuer_url="https://login.example",
        client_secret_ref="vault:mcp/far/oauth/work/client-secret",
    ),
    match=("remote:github.com/acme/*", "dir:~/acme/**"),
)
ME = Account(name="me", default=True)


def test_accounts_are_read_and_written_as_they_are(ground: Ground) -> None:
    ground.put(ground.home / "config.toml", TOML)
    (entry,) = ground.load(CLIENT="me-and-you").servers
    assert entry.accounts == (WORK, ME)
    assert references_of(entry) == ("vault:mcp/far/oauth/work/client-secret",)
    again = entry_from_fields("far", fields_from_entry(entry), Origin(), str(ground.workspace))
    assert again.accounts == entry.accounts
    assert again.account == ""


def test_nobody_else_adds_an_account_or_changes_where_one_is_used(ground: Ground) -> None:
    ground.put(ground.home / "config.toml", TOML)
    for more in (
        '[mcp_servers.far.accounts.work]\nmatch = ["dir:/**"]\n',
        "[mcp_servers.far.accounts.other]\ndefault = true\n",
        "[mcp_servers.far.accounts.other]\n",
        "[mcp_servers.far]\naccounts = {}\n",
    ):
        ground.put(ground.own / "config.toml", more)
        (problem,) = ground.refused(CLIENT="x")
        assert problem.path == str(ground.own / "config.toml")
        assert "`accounts` are for your own files" in problem.message
    # What takes the place of the server has none of its accounts, and waits for trust.
    (ground.own / "config.toml").unlink()
    ground.put(ground.own / "mcp.json", {"mcpServers": {"far": {"url": "https://far.example/mcp"}}})
    (entry,) = ground.load(trusted=False, CLIENT="x").untrusted
    assert entry.accounts == ()


@pytest.mark.parametrize("place", ["home", "workspace"])
def test_an_agent_may_use_accounts_and_have_none(ground: Ground, place: str) -> None:
    ground.put(ground.home / "config.toml", TOML)
    folder = ground.home if place == "home" else ground.own
    agent = folder / "agents" / "reviewer"
    change = "---\nname: reviewer\nmcp_servers:\n  far:\n    rpc_timeout_ms: 5\n---\n"
    ground.put(agent / "AGENT.md", change)
    settings = ground.load(CLIENT="me-and-you")
    scoped = servers_in_scope(settings, agent=str(agent))
    # Where the agent is the workspace's own, its change waits.
    (entry,) = scoped.servers if place == "home" else scoped.untrusted
    assert (entry.accounts, entry.rpc_timeout_ms) == ((WORK, ME), 5)
    ground.put(agent / "AGENT.md", change.replace("rpc_timeout_ms: 5", "accounts: {x: {}}"))
    with pytest.raises(ConfigInvalid) as refused:
        servers_in_scope(settings, agent=str(agent))
    assert "`accounts` are for your own files" in refused.value.render()
