"""Real hosts work in a worktree, and their servers do too, although one workspace is configured."""

import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from e2e.test_hosts import HOSTS, Host
from following.town import Town
from support.models.script import say, use
from support.processes import wait_until_none_mention
from support.workspace import Json, server


@pytest.fixture
def town() -> Iterator[Town]:
    with TemporaryDirectory(prefix="sb-", ignore_cleanup_errors=True) as folder:
        town = Town(Path(folder), daemon=True)
        yield town
        town.workspace.stop_daemon()
        wait_until_none_mention(folder)


@pytest.fixture(params=["claude-code", "claude-code-modern", "codex"])
def host(request: pytest.FixtureRequest) -> Host:
    """Of both eras. It says where it works, or is where it was started."""
    return HOSTS[request.param]


async def test_a_host_in_a_worktree_has_servers_that_look_at_it(host: Host, town: Town) -> None:
    board = server(town.workspace.command("mcp", "--workspace", str(town.main)))
    call: Json = {"action": "call", "subtool": "report", "args": {}}
    path = str(town.main / "code.py")
    steps = (
        use("look_suite", **call),
        use("look_suite", **call, worktree="main"),
        use("look_suite", action="call", subtool="echo", args={"text": path}),
        use("look_suite", action="call", subtool="echo", args={"text": path}, worktree="side"),
        say("done"),
    )
    # The host itself stands in the other worktree.
    town.workspace.root = town.side
    with host.model(*steps) as model:
        finished = await host.run(host.program(), model, town.workspace, {"board": board})
    assert finished.code == 0, finished.stderr + finished.stdout
    there, named, routed, refused = model.results
    assert _stood_in(there) == str(town.side)
    assert _stood_in(named) == str(town.main)
    assert f"echo: {path}" in routed
    assert "`look` looks at the worktree `feature-x`, and `text` is in `main`" in refused


def _stood_in(result: str) -> str:
    """Where the process stood, by what it told, however hosts wrap that up."""
    found = re.search(r'cwd[\\": ]+([^\\"]+)', result)
    assert found is not None, result
    return found[1]
