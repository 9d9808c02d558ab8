"""A real host reaches a server that wants OAuth, and never sees a token."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.hosts import claude_program, run_claude
from support.logging_in import log_in
from support.models.messages import messages_model
from support.models.script import say, use
from support.oauth_servers import oauth_servers
from support.workspace import Workspace, server

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    workspace = Workspace(tmp_path, daemon=True)
    yield workspace
    workspace.stop_daemon()


@pytest.mark.requirement("S4.37", "S3.54", "S3.55")
async def test_claude_code_is_told_what_to_type_and_works_after_it(workspace: Workspace) -> None:
    board = {"board": server(workspace.command("mcp"))}
    call = use("notes_suite", action="call", subtool="whoami", args={})
    async with oauth_servers() as servers:
        workspace.mcp_json({"notes": {"url": servers.url}})
        with messages_model(call, say("done")) as model:
            first = await run_claude(claude_program(), model, workspace, board)
        assert first.code == 0, first.stderr
        assert "switchboard mcp auth login notes" in model.results[0]
        # The daemon that told it so goes on, and finds the login by itself.
        assert (await log_in(workspace, "notes")).code == 0
        with messages_model(call, say("done")) as model:
            second = await run_claude(claude_program(), model, workspace, board)
        assert second.code == 0, second.stderr
        assert "logged in as ada" in model.results[0]
        assert "Bearer" not in second.stdout
