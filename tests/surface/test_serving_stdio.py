"""Switchboard as a process that a host starts, judged by what comes out of it."""

import asyncio
import json
import subprocess
from pathlib import Path

import pytest

from support.mcp_stdio import META, Framing, Json, text_of
from support.processes import children_of, mentioning, until_true
from support.requirements import requirement
from support.workspace import Workspace, child_command
from surface.hosts import hosting, misbehaving, network_sockets, scripted

HELLO: Json = {
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}},
}


def lines(*messages: Json) -> bytes:
    """Write messages as a client does that is none of ours."""
    return b"".join(json.dumps({"jsonrpc": "2.0", **each}).encode() + b"\n" for each in messages)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


@requirement("S2.01", "S2.02", "S2.03", "S2.04", "S2.06", "S2.88")
@pytest.mark.parametrize("framing", ["newline", "content-length"])
@pytest.mark.parametrize("verb", [("mcp",), ("serve", "--stdio")])
async def test_a_host_is_served_in_its_own_framing_and_stdout_carries_protocol_only(
    framing: Framing, verb: tuple[str, ...], workspace: Workspace
) -> None:
    workspace.echo_child()
    async with hosting(workspace, framing=framing, verb=verb) as client:
        assert list(await client.tools()) == ["echo_suite"]
        result = await client.call_subtool("echo_suite", "echo", {"text": "héllo"})
        assert json.loads(text_of(result))["content"][0]["text"] == "echo: héllo"
        assert await client.close() == 0
        assert set(client.framings) == {framing}
        assert client.junk == []
        assert "ConfigLoaded" in client.stderr


@requirement("S2.42", "S2.69", "S2.75")
async def test_listing_ten_children_starts_none_of_them(workspace: Workspace) -> None:
    for number in range(10):
        workspace.echo_child(f"child{number}")
    async with hosting(workspace) as client:
        clock = asyncio.get_running_loop().time
        began = clock()
        assert len(await client.tools()) == 10
        assert clock() - began < 5
        assert children_of(client.pid) == []


@requirement("S2.49", "S2.51", "S2.32", "S2.86", "S2.85")
async def test_a_child_runs_in_the_folder_of_its_file_with_its_own_variables(
    workspace: Workspace,
) -> None:
    folder = workspace.echo_child(env={"API_KEY": "swordfish-4711"})
    async with hosting(workspace, env={"UNRELATED": "secret"}) as client:
        result = await client.call_subtool("echo_suite", "report")
        report = json.loads(json.loads(text_of(result))["content"][0]["text"])
        assert report["cwd"] == str(folder)
        assert report["env"]["API_KEY"] == "swordfish-4711"
        assert "UNRELATED" not in report["env"]
        assert report["ppid"] == client.pid
        await client.close()
        assert "swordfish" not in client.stderr


@requirement("S2.85")
async def test_a_variable_of_a_child_is_logged_nowhere_even_when_the_child_cries_it_out(
    workspace: Workspace,
) -> None:
    suite = misbehaving(workspace, "dies-on-tool")
    workspace.child(
        "crier",
        ["sh", "-c", "echo $API_KEY >&2; echo $API_KEY; exit 3"],
        env={"API_KEY": "swordfish-4711"},
    )
    log = {"RUST_LOG": "trace"}
    async with hosting(workspace, env=log) as client:
        result = await client.call("crier_suite", {"action": "introspect"})
        assert result["isError"]
        assert (await client.call_subtool(suite, "die"))["isError"]
        await client.close()
        assert "swordfish" not in json.dumps(result)
        assert "swordfish" not in client.stderr
        assert "ChildFailed" in client.stderr


@requirement("S2.87")
async def test_switchboard_itself_opens_no_network(workspace: Workspace) -> None:
    workspace.echo_child()
    async with hosting(workspace) as client:
        await client.introspect("echo_suite")
        assert network_sockets(client.pid) == set()


async def test_junk_is_answered_and_the_conversation_goes_on(workspace: Workspace) -> None:
    workspace.echo_child()
    async with hosting(workspace) as client:
        client.send_bytes(b"this is not json\n[]\n\n7\n")
        assert "echo_suite" in await client.tools()
        errors = [message["error"]["code"] for message in client.messages if "error" in message]
        assert errors == [-32700, -32600, -32600]


async def test_a_cancelled_call_is_cancelled_at_the_child_and_never_answered(
    workspace: Workspace,
) -> None:
    workspace.echo_child()
    async with hosting(workspace) as client:
        await client.introspect("echo_suite")
        stall = {"action": "call", "subtool": "stall"}
        stalled = client.begin("tools/call", {"name": "echo_suite", "arguments": stall})
        await client.notify("notifications/cancelled", {"requestId": stalled})
        result = await client.call_subtool("echo_suite", "history")
        history = json.loads(json.loads(text_of(result))["content"][0]["text"])
        # The child may never have heard of a call that was cancelled at once.
        assert len(history["cancelled"]) == history["received"].count("tools/call") - 1
        assert stalled not in [message.get("id") for message in client.messages]


async def test_many_calls_at_once_are_answered_each_with_its_own_result(
    workspace: Workspace,
) -> None:
    for name in ("one", "two"):
        workspace.echo_child(name)
    async with hosting(workspace) as client:
        calls = [
            client.call_subtool(
                f"{('one', 'two')[number % 2]}_suite", "echo", {"text": str(number)}
            )
            for number in range(100)
        ]
        results = await asyncio.gather(*calls)
        assert all(f"echo: {number}" in text_of(result) for number, result in enumerate(results))


@requirement("S2.72", "S2.74", "S2.08")
async def test_an_error_of_a_child_and_of_a_suite_are_readable_tool_errors(
    workspace: Workspace,
) -> None:
    workspace.echo_child()
    async with hosting(workspace) as client:
        wrong = await client.call("echo_suite", {"action": "call", "subtool": "ecko", "args": {}})
        assert wrong["isError"]
        assert text_of(wrong).startswith("not_found: ")
        assert wrong["_meta"]["switchboard/error"]["reason"] == "unknown-subtool"
        failed = await client.call_subtool("echo_suite", "fail", {"why": "rain"})
        assert failed["isError"]
        picture = await client.call_subtool("echo_suite", "picture")
        assert [block["type"] for block in picture["content"]] == ["text", "image", "resource_link"]


async def test_passthrough_reaches_the_host_byte_for_byte(
    workspace: Workspace, tmp_path: Path
) -> None:
    odd = (
        '{"content": [ {"type":"text","text":"\\u00e9"} ],"n":123456789012345678901234567890,'
        '"f":1.0e+02,"b":1,"a":2,"b":3}'
    )
    script = {"tools/call": ['{"jsonrpc":"2.0","result":', odd, ',"id":$id}\n']}
    suite = scripted(workspace, script, tmp_path / "notes")
    workspace.config_json({"suites": {"odd": {"resultMode": "passthrough"}}})
    call: Json = {"name": suite, "arguments": {"action": "call", "subtool": "any"}}
    process = await asyncio.create_subprocess_exec(
        *workspace.command("mcp"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=workspace.root,
        env=workspace.env,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(lines(HELLO, {"id": 2, "method": "tools/call", "params": call}))
    async with asyncio.timeout(20):
        await process.stdout.readline()
        answer = await process.stdout.readline()
    assert answer == b'{"jsonrpc":"2.0","id":2,"result":%b}\n' % odd.encode()
    process.stdin.close()
    assert await process.wait() == 0


async def test_plain_files_may_stand_for_stdin_and_stdout(workspace: Workspace) -> None:
    workspace.echo_child()
    asked, answered = workspace.root / "asked", workspace.root / "answered"
    asked.write_bytes(lines(HELLO, {"id": 2, "method": "tools/list"}))
    with asked.open("rb") as stdin, answered.open("wb") as stdout:
        process = await asyncio.create_subprocess_exec(
            *workspace.command("mcp"),
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.DEVNULL,
            cwd=workspace.root,
            env=workspace.env,
        )
        async with asyncio.timeout(20):
            assert await process.wait() == 0
    answers = [json.loads(line) for line in answered.read_text().splitlines()]
    assert [answer["id"] for answer in answers] == [1, 2]


async def test_an_edit_of_the_configuration_is_announced_and_a_bad_one_keeps_the_old(
    workspace: Workspace,
) -> None:
    workspace.echo_child("first")
    async with hosting(workspace) as client:
        assert list(await client.tools()) == ["first_suite"]
        workspace.echo_child("second")
        await client.message("notifications/tools/list_changed")
        assert list(await client.tools()) == ["first_suite", "second_suite"]
        workspace.write("switchboard.config.json", "{ not json")
        await until_true(lambda: "ConfigRejected" in client.stderr)
        assert list(await client.tools()) == ["first_suite", "second_suite"]
        result = await client.call_subtool("first_suite", "echo", {"text": "still"})
        assert "echo: still" in text_of(result)


async def test_a_modern_host_that_listens_hears_of_an_edit(workspace: Workspace) -> None:
    workspace.echo_child("first")
    async with hosting(workspace, handshake=False) as client:
        found = await client.discover()
        assert found["supportedVersions"] == ["2026-07-28"]
        wanted: Json = {"notifications": {"toolsListChanged": True}}
        listening = client.begin("subscriptions/listen", wanted)
        acknowledged = await client.message("notifications/subscriptions/acknowledged")
        assert acknowledged["params"]["_meta"][META + "subscriptionId"] == listening
        workspace.echo_child("second")
        changed = await client.message("notifications/tools/list_changed")
        assert changed["params"]["_meta"][META + "subscriptionId"] == listening
        assert list(await client.tools()) == ["first_suite", "second_suite"]
        result = await client.call_subtool("second_suite", "echo", {"text": "hi"})
        assert (result["resultType"], "echo: hi" in text_of(result)) == ("complete", True)


async def test_a_call_under_way_survives_an_edit_that_removes_its_child(
    workspace: Workspace,
) -> None:
    folder = workspace.child("slow", child_command("misbehaving_child", "slow-start", "1.5"))
    workspace.echo_child("other")
    async with hosting(workspace) as client:
        arguments: Json = {"action": "call", "subtool": "echo", "args": {"text": "last"}}
        call = client.begin("tools/call", {"name": "slow_suite", "arguments": arguments})
        (folder / ".mcp.json").unlink()
        await client.message("notifications/tools/list_changed")
        assert list(await client.tools()) == ["other_suite"]
        answer = await client.answer_to(call)
        assert "echo: last" in text_of(answer["result"])
        await until_true(lambda: not mentioning(str(folder)))
