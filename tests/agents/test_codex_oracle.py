"""`codex` and `codex-reply` beside those of the last Codex that had them, on the same model."""

import json
from typing import Any

import pytest

from agents.test_end_to_end import configure, playing
from support.hosts import codex_program
from support.mcp_stdio import StdioClient, talking_to
from support.models.script import say, shell
from support.requirements import requirement
from support.workspace import Workspace

PATIENCE = 60.0
NAMES = ("codex", "codex-reply")
# What a client shows, or acts on, of a conversation.
KNOWN = {
    *("session_configured", "task_started", "user_message", "exec_command_begin"),
    *("exec_command_end", "agent_message_content_delta", "agent_message", "token_count"),
    "task_complete",
}


@pytest.fixture(autouse=True)
def configured(workspace: Workspace) -> None:
    configure(workspace)


def commands(workspace: Workspace) -> tuple[list[str], list[str]]:
    """Give the old command and ours."""
    return [str(codex_program("codex-oracle")), "mcp-server"], workspace.command("codex")


@requirement("S3.114", "S3.118")
async def test_the_listing_is_the_same(workspace: Workspace) -> None:
    listed: list[dict[str, Any]] = []
    with playing(workspace):
        for argv in commands(workspace):
            async with talking_to(argv, cwd=workspace.root, env=workspace.env) as client:
                await client.initialize("2025-06-18")
                tools = await client.tools()
                listed.append({name: described(tools[name]) for name in NAMES})
    theirs, ours = listed
    assert ours == theirs


def described(tool: dict[str, Any]) -> dict[str, Any]:
    kept = ("name", "title", "description", "inputSchema", "outputSchema")
    return {name: tool[name] for name in kept}


@requirement("S3.113", "S3.115")
async def test_a_conversation_has_the_same_shape(workspace: Workspace) -> None:
    seen: list[Any] = []
    for argv in commands(workspace):
        steps = (shell("echo hi"), say("two bugs"), say("and a third"))
        with playing(workspace, *steps):
            async with talking_to(argv, cwd=workspace.root, env=workspace.env) as client:
                await client.initialize("2025-06-18", {"elicitation": {}})
                seen.append(await converse(client, str(workspace.root)))
    theirs, ours = seen
    assert ours == theirs


async def converse(client: StdioClient, cwd: str) -> Any:
    """Begin a thread, go on with it and with none, and give the shape of all that was said."""
    given = {"prompt": "look", "cwd": cwd, "sandbox": "danger-full-access"}
    first = await client.call("codex", {**given, "approval-policy": "never"}, patience=PATIENCE)
    thread = first["structuredContent"]["threadId"]
    again = {"prompt": "more", "threadId": thread}
    second = await client.call("codex-reply", again, patience=PATIENCE)
    lost = {"prompt": "more", "threadId": "00000000-0000-0000-0000-000000000000"}
    third = await client.call("codex-reply", lost, patience=PATIENCE)
    events: list[str] = []
    while len(events) < 1 or events[-1] != "task_complete":
        params = (await client.message("codex/event"))["params"]
        assert set(params) == {"_meta", "msg", "id"}
        assert params["_meta"]["threadId"] == thread
        if params["msg"]["type"] in KNOWN:
            events.append(params["msg"]["type"])
    results = [shaped(each, thread) for each in (first, second, third)]
    return results, list(dict.fromkeys(events))


def shaped(result: dict[str, Any], thread: str) -> Any:
    """Give a result without what differs from conversation to conversation."""
    told = {name: value for name, value in result.items() if name != "_meta"}
    return json.loads(json.dumps(told).replace(thread, "THREAD"))
