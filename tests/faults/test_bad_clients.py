"""Whatever a client sends, it gets an answer or an end, and nothing else happens."""

from pathlib import Path

import pytest

from support.mcp_stdio import Json, RpcError, text_of
from support.processes import children_of
from support.requirements import requirement
from support.workspace import Workspace
from surface.hosts import hosting

TOO_DEEP = b'{"jsonrpc":"2.0","id":9,"method":"tools/list","params":' + b'{"a":' * 3000 + b"\n"
JUNK = [
    b"hello\n",
    b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":\n',
    b"\xff\xfe\x00\x01\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"[" * 4000 + b"\n",
    TOO_DEEP,
    b"Content-Length: many\r\n\r\n",
    b"Content-Length: 3\r\n\r\n{{{",
]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace(tmp_path)
    workspace.echo_child()
    return workspace


@pytest.mark.parametrize("junk", JUNK, ids=range(len(JUNK)))
async def test_junk_is_refused_and_the_conversation_goes_on(
    junk: bytes, workspace: Workspace
) -> None:
    async with hosting(workspace) as client:
        client.send_bytes(junk)
        assert list(await client.tools()) == ["echo_suite"]
        errors = [message for message in client.messages if "error" in message]
        assert errors
        # What is nested too deeply is read as far as its id, and whoever waits is answered.
        assert {error["id"] for error in errors} == {9 if junk is TOO_DEEP else None}
        assert {error["error"]["code"] for error in errors} <= {-32700, -32600}
        assert await client.close() == 0
        assert "Traceback" not in client.stderr


async def test_arguments_of_any_depth_are_answered(workspace: Workspace) -> None:
    depths = [100, 900, *range(950, 1010, 5), 3000]
    async with hosting(workspace) as client:
        for depth in depths:
            nested = b'{"x":' * depth + b"1" + b"}" * depth
            client.send_bytes(
                b'{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{"_meta":{"a":%b}}}\n'
                b'{"jsonrpc":"2.0","id":"b","method":"initialize","params":{"protocolVersion":'
                b'"2025-11-25","capabilities":%b}}\n' % (nested, nested)
            )
        assert list(await client.tools()) == ["echo_suite"]
        answers = [message for message in client.messages if message["id"] in {"a", "b", None}]
        assert len(answers) == 2 * len(depths)
        assert "Traceback" not in client.stderr


@requirement("S2.47", "S2.48")
async def test_wrong_arguments_are_a_tool_error_and_start_no_child(workspace: Workspace) -> None:
    wrong: list[object] = [
        {},
        {"action": "destroy"},
        {"action": "call"},
        {"action": "call", "subtool": 7},
        {"action": "call", "subtool": "echo", "args": "text"},
        {"action": ["call"]},
        "introspect",
        7,
    ]
    async with hosting(workspace) as client:
        for arguments in wrong:
            params: Json = {"name": "echo_suite", "arguments": arguments}
            result = await client.request("tools/call", params)
            assert result["isError"]
            assert text_of(result).startswith("invalid_argument: ")
            assert "hint: send" in text_of(result)
        assert children_of(client.pid) == []


async def test_an_unknown_tool_is_an_error_of_the_protocol(workspace: Workspace) -> None:
    async with hosting(workspace) as client:
        with pytest.raises(RpcError) as caught:
            await client.call("nobody", {})
        assert caught.value.code == -32602
        assert "nobody" in caught.value.message


async def test_a_message_over_the_limit_ends_the_conversation_in_order(
    workspace: Workspace,
) -> None:
    async with hosting(workspace) as client:
        await client.introspect("echo_suite")
        client.send_bytes(b"Content-Length: 20000000\r\n\r\n")
        assert await client.ended() == 0
        assert "larger than" in client.stderr
        assert client.junk == []


async def test_a_host_that_says_nothing_and_leaves_is_no_error(workspace: Workspace) -> None:
    async with hosting(workspace, handshake=False) as client:
        assert await client.close() == 0
        assert client.messages == []
        assert "Traceback" not in client.stderr


async def test_half_a_message_and_the_end_is_no_error(workspace: Workspace) -> None:
    async with hosting(workspace, handshake=False) as client:
        client.send_bytes(b'{"jsonrpc":"2.0","id":1,"method":"initia')
        assert await client.close() == 0
        assert client.messages == []
