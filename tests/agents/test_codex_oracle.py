"""`codex` and `codex-reply` beside those of the last Codex that had them, on the same model."""

import asyncio
import json
from typing import Any

import pytest

from agents.test_end_to_end import configure, playing
from engines.codex_stage import ASKING
from support.hosts import codex_program
from support.mcp_stdio import StdioClient, talking_to
from support.models.script import say, shell
from support.processes import until_true
from support.reading import read_it, reply
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
PATCH = "*** Begin Patch\n*** Add File: {}.txt\n+hello\n*** End Patch"


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


@requirement("S3.113")
async def test_a_run_that_does_everything_is_told_in_the_same_types(workspace: Workspace) -> None:
    """A message, a command, a patch and an approval that a person gives."""
    heard: list[tuple[set[str], Any]] = []
    # The old one does without its own programs where its home lies in the temp folder.
    (workspace.user_home / "temp").mkdir()
    env = {**workspace.env, "TMPDIR": str(workspace.user_home / "temp")}
    for name, argv in zip(("theirs", "ours"), commands(workspace), strict=True):
        outside = workspace.user_home / name
        steps = (
            shell("echo hi; sleep 0.3; echo ho"),
            shell(f"apply_patch <<'EOF'\n{PATCH.format(name)}\nEOF\n"),
            shell(f"touch {outside}", **ASKING),
            say("two bugs"),
        )
        with playing(workspace, *steps):
            async with talking_to(argv, cwd=workspace.root, env=env) as client:
                await client.initialize("2025-06-18", {"elicitation": {}})
                told = await told_of_all(client, str(workspace.root))
        assert outside.exists()
        assert (workspace.root / f"{name}.txt").exists()
        types = {each["type"] for each in told}
        assert len(types) > len(KNOWN)
        heard.append((types, [shape_of(each, name) for each in told if each["type"] in SHAPED]))
    (theirs, their_shapes), (ours, our_shapes) = heard
    assert ours == theirs
    assert our_shapes == their_shapes


# Whose contents a client shows; all of them are the same, but for times and ids.
SHAPED = {"exec_command_begin", "patch_apply_begin", "agent_message"}


def shape_of(told: dict[str, Any], name: str) -> Any:
    kept = ("type", "command", "changes", "message")
    shape = {key: told[key] for key in kept if key in told}
    return json.loads(json.dumps(shape).replace(name, "NAME"))


async def told_of_all(client: StdioClient, cwd: str) -> list[dict[str, Any]]:
    """Have Codex do it, say yes where it asks, and give all of its events."""
    given = {"prompt": "look", "cwd": cwd, "sandbox": "workspace-write"}
    params = {"name": "codex", "arguments": {**given, "approval-policy": "on-request"}}
    agreeing = asyncio.ensure_future(agree(client))
    try:
        await client.request("tools/call", params, patience=PATIENCE)
    finally:
        agreeing.cancel()
    # The last ones may come after the answer.
    await until_true(lambda: events_of(client)[-1]["type"] == "task_complete")
    return events_of(client)


async def agree(client: StdioClient) -> None:
    # Each of the two takes the words of its own, and minds no others.
    yes = {**reply("allow_once"), "decision": "approved"}
    while True:
        asked = await client.message("elicitation/create", patience=PATIENCE)
        await read_it()
        client.send({"jsonrpc": "2.0", "id": asked["id"], "result": yes})


def events_of(client: StdioClient) -> list[dict[str, Any]]:
    return [
        each["params"]["msg"] for each in client.messages if each.get("method") == "codex/event"
    ]
