"""What a confined server of a repository leaves is not found by the user's own of its name."""

import subprocess
from pathlib import Path

import pytest

from support.requirements import attack
from support.workspace import Workspace, server

pytestmark = pytest.mark.timeout(120)
LEAVES = 'echo left > "$SWITCHBOARD_STATE_DIR/.npmrc"; echo left > "$npm_config_cache.left"'


def _start(workspace: Workspace) -> None:
    command = workspace.command("doctor", "--deep")
    subprocess.run(
        command, cwd=workspace.root, env=workspace.env, check=False, capture_output=True, timeout=90
    )


@attack("T86")
def test_settings_that_a_clone_left_are_not_obeyed_by_a_server_of_the_user(tmp_path: Path) -> None:
    """Attempted: the clone then takes its entry away, and the user's own starts in its place."""
    workspace = Workspace(tmp_path)
    entry = server(["sh", "-c", LEAVES], sandbox_profile="default")
    theirs = workspace.mcp_json({"git": entry})
    _start(workspace)
    kept = {path.parent for path in workspace.home.glob("state/*/.npmrc")}
    cached = {path.parent for path in workspace.home.glob("caches/*/*/npm.left")}
    assert (len(kept), len(cached)) == (1, 1)
    theirs.unlink()
    for folder in (*kept, *cached):
        next(folder.glob("*left" if folder in cached else ".npmrc")).unlink()
    workspace.mcp_json({"git": entry}, scope="home")
    _start(workspace)
    own = {path.parent for path in workspace.home.glob("state/*/.npmrc")}
    own_cached = {path.parent for path in workspace.home.glob("caches/*/*/npm.left")}
    assert (len(own), len(own_cached)) == (1, 1)
    assert own.isdisjoint(kept)
    assert own_cached.isdisjoint(cached)
