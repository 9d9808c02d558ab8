"""`switchboard approvals watch` with tools that their server has changed."""

import json
import os
import subprocess

import pytest

from approvals.ground import Ground
from approvals.test_cli import audited, changed_tool, terminal
from approvals.test_watch_screen import PAUSE, watching, workspace
from support.requirements import requirement
from support.workspace import Workspace
from switchboard.core.faults import Fault

ASKS = "y: take it as it is now, n: no"


__all__ = ["workspace"]


async def held(ground: Ground) -> list[str]:
    return [each.id for each in await ground.store.held()]


@requirement("S3.33")
@pytest.mark.parametrize(("key", "verdict"), [("y", "approved"), ("n", "denied")])
async def test_a_changed_tool_is_shown_and_answered_with_one_key(
    workspace: Workspace, key: str, verdict: str
) -> None:
    ground, held_id = await changed_tool(workspace)
    with watching(workspace, (100, 40)) as screen:
        shown = screen.until_shown(ASKS)
        assert "notes has changed its tool read" in shown
        assert '+  "description": "Reads it all.",' in shown
        # There is no session that a changed tool could be agreed to for.
        screen.type("s")
        screen.until_shown(PAUSE)
        screen.until_shown(ASKS)
        screen.type(key)
        screen.until_shown(f"{verdict}: changed tool: read of notes")
    assert await held(ground) == []
    if key == "y":
        await ground.run()
        assert ground.ran == 2
    else:
        with pytest.raises(Fault, match="has changed"):
            await ground.run()
    [record] = audited(workspace)
    decided = record["approval"]
    assert (decided["decision"], decided["id"], decided["mode"]) == (
        verdict,
        held_id,
        "definition",
    )


async def test_the_client_that_wanted_it_can_say_no_only(workspace: Workspace) -> None:
    ground, held_id = await changed_tool(workspace, client_pid=os.getpid())
    # Below this process, which is the client: no terminal of a server of its own.
    with terminal(workspace, "watch") as screen:
        screen.until(ASKS)
        screen.type("y")
        screen.until("which cannot answer itself")
    assert await held(ground) == [held_id]
    assert audited(workspace) == []


@requirement("S3.33")
async def test_what_cannot_be_noted_is_not_decided(workspace: Workspace) -> None:
    ground, held_id = await changed_tool(workspace)
    (workspace.home / "audit").write_text("no folder")
    with watching(workspace, (100, 40)) as screen:
        screen.until_shown(ASKS)
        screen.type("y")
        screen.until_shown("the audit log cannot be written")
    assert await held(ground) == [held_id]


async def test_what_is_decided_elsewhere_goes_away(workspace: Workspace) -> None:
    ground, _ = await changed_tool(workspace)
    with watching(workspace, (100, 40)) as screen:
        screen.until_shown(ASKS)
        [waiting] = await ground.store.held()
        await ground.store.accept(waiting)
        screen.until_shown("Nothing waits for an answer.")


async def test_as_json_it_is_a_line_of_its_own_kind(workspace: Workspace) -> None:
    _, held_id = await changed_tool(workspace)
    with subprocess.Popen(  # noqa: ASYNC220 - nothing else runs in this loop
        workspace.command("approvals", "watch", "--json"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env=workspace.env,
        text=True,
    ) as watching:
        try:
            assert watching.stdout is not None
            line = json.loads(watching.stdout.readline())
        finally:
            watching.kill()
    assert line["schema"] == "switchboard.approvals-watched-definition/1"
    assert line["definition"]["id"] == held_id
    assert '+  "description": "Reads it all.",' in line["changes"]
