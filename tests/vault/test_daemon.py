"""The daemon looks secrets up for its sessions, and tells them to nobody else."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.commands import switchboard
from support.requirements import requirement
from support.workspace import Workspace, child_command, server
from vault.ground import file_vault

CANARY = "canary-of-a-daemon-4410"
ROTATED = "rotated-canary-of-a-daemon-8831"
TOKEN = "mcp/github/env/GITHUB_TOKEN"


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    place = Workspace(tmp_path, daemon=True)
    yield place
    place.stop_daemon()


@requirement("S3.49", "S3.53")
def test_a_session_of_the_daemon_has_rotated_secrets_and_no_log_has_any(
    workspace: Workspace,
) -> None:
    entry = server(child_command("echo_child"), secret_env={"GITHUB_TOKEN": f"vault:{TOKEN}"})
    workspace.mcp_json({"github": entry}, scope="home")
    env = {"RUST_LOG": "trace"}
    missing = switchboard(workspace, "call", "github", "report", env=env)
    assert missing.code == 1
    assert f"switchboard vault put {TOKEN}" in missing.err
    file_vault(workspace.home / "vault").put(TOKEN, CANARY)
    assert CANARY in switchboard(workspace, "call", "github", "report", env=env).out
    file_vault(workspace.home / "vault").put(TOKEN, ROTATED)
    assert ROTATED in switchboard(workspace, "call", "github", "report", env=env).out
    for words in (("status", "--json"), ("doctor",), ("vault", "list")):
        done = switchboard(workspace, *words, env=env)
        assert "canary" not in f"{done.out}{done.err}"
    workspace.stop_daemon()
    kept = [path for path in workspace.user_home.rglob("*") if path.is_file()]
    assert any(path.suffix == ".log" for path in kept)
    for path in kept:
        data = path.read_bytes()
        assert CANARY.encode() not in data
        assert ROTATED.encode() not in data
