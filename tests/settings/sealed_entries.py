"""Servers of every kind and a command tool, with the fingerprints that they have always had."""

from switchboard.children.schema import OAuth, ServerEntry
from switchboard.settings.fingerprints import fingerprint, seal_of, sealed

# No such folder: what files hold is no part of these fingerprints.
_WORKSPACE = "/nowhere/workspace"
_STDIO = ServerEntry(name="plain", transport="stdio", command="uvx", cwd=_WORKSPACE)
_FULL = ServerEntry(
    name="full",
    transport="stdio",
    command="python",
    args=("-m", "server", "--flag"),
    env={"B": "2", "A": "1"},
    secret_env={"TOKEN": "env:TOKEN"},
    cwd=f"{_WORKSPACE}/.switchboard/mcps/full",
    inherit_env=True,
    framing="newline",
    protocol="modern",
    scope="session",
    expose="tools",
    tool_prefix="x_",
    relay=False,
    trust_annotations=False,
    rpc_timeout_ms=5_000,
    sandbox_profile="default",
    allow_network=True,
    read_roots=("~/data",),
    writable_roots=("out", "tmp"),
    read_env_files=True,
    description="Does things.",
    suite_description="A suite of things.",
)
_REMOTE = ServerEntry(
    name="remote",
    transport="http",
    url="https://mcp.example.com/mcp",
    headers={"X-B": "secret", "X-A": "secret"},
    auth=OAuth(
        client_id="me",
        client_secret_ref="env:CLIENT_SECRET",
        issuer_url="https://id.example.com",
        scopes=("read", "write"),
    ),
    cwd=_WORKSPACE,
)
ENTRIES = (_STDIO, _FULL, _REMOTE)


def prints() -> dict[str, list[str]]:
    """What each is trusted by, alone and with words of its suite; and a command tool."""
    shown = {"suiteName": "other", "description": "Words."}
    servers = {
        entry.name: [
            sealed(entry, _WORKSPACE).fingerprint,
            sealed(entry, _WORKSPACE, shown).fingerprint,
        ]
        for entry in ENTRIES
    }
    command = seal_of(
        "command",
        "lint",
        {"command": "ruff", "args": ["check"], "env": {"A": "1"}, "timeout_ms": 5_000},
        _WORKSPACE,
        words=("ruff", "check"),
        cwd=_WORKSPACE,
        binding=True,
    )
    return {**servers, "lint": [fingerprint(command, _WORKSPACE)]}
