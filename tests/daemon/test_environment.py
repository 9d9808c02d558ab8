"""A session's environment comes from its client, never from the daemon or from another session."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from support.daemons import daemon_pid, dial, shim, status
from support.mcp_stdio import StdioClient, text_of
from support.requirements import attack
from support.workspace import Workspace, child_command, server
from switchboard.ipc.environment import BASE_NAMES, hello_environment
from switchboard.ipc.hello import hello_line
from switchboard.ipc.protocol import CLIENT


async def environment(client: StdioClient, suite: str = "echo_suite") -> dict[str, str]:
    result = await client.call_subtool(suite, "report")
    found: dict[str, Any] = json.loads(json.loads(text_of(result))["content"][0]["text"])
    return found["env"]


def words_of(pid: int) -> str:
    with open(f"/proc/{pid}/environ", encoding="utf-8") as file:  # noqa: PTH123
        return file.read()


@attack("S6")
async def test_a_child_gets_what_its_own_client_has(workspace: Workspace) -> None:
    async with shim(workspace, env={"LANG": "one"}) as one:
        assert (await environment(one))["LANG"] == "one"
        async with shim(workspace, env={"LANG": "two"}) as two:
            assert (await environment(two))["LANG"] == "two"
            assert (await environment(one))["LANG"] == "one"
            assert len((status(workspace) or {})["boards"]) == 2


async def test_where_the_daemon_finds_its_code_is_told_to_no_child(
    workspace: Workspace, tmp_path: Path
) -> None:
    heir = server(child_command("echo_child"), inherit_env=True)
    workspace.mcp_json({"heir": heir})
    code = {"PYTHONPATH": str(tmp_path)}
    async with shim(workspace, env=code) as first:
        assert str(tmp_path) in words_of(daemon_pid(workspace))
        assert "PYTHONPATH" not in await environment(first)
        async with shim(workspace) as second:
            # It inherits what its own client has, which is not what the daemon has.
            inherited = await environment(second, "heir_suite")
            assert inherited.get("PYTHONPATH") == workspace.env.get("PYTHONPATH")


def asked(workspace: Workspace) -> set[str]:
    """The variables that a client who comes now is asked for first."""
    hello = hello_line(
        CLIENT,
        home=str(workspace.home),
        cwd=str(workspace.root),
        environ=hello_environment(workspace.env),
    )
    with dial(workspace) as stranger:
        stranger.sendall(hello)
        word, *names = stranger.makefile(encoding="utf-8").readline().split()
    assert word == "need"
    return set(names)


async def test_a_variable_is_asked_for_only_as_long_as_it_is_named(workspace: Workspace) -> None:
    entry = server(child_command("echo_child"), secret_env={"TOKEN": "env:MY_TOKEN"})
    file = workspace.mcp_json({"locked": entry})
    async with shim(workspace, env={"MY_TOKEN": "one"}) as one:
        assert (await environment(one, "locked_suite"))["TOKEN"] == "one"
        assert "MY_TOKEN" in asked(workspace)
        file.unlink()
        async with shim(workspace, env={"MY_TOKEN": "two"}) as two:
            assert set(await two.tools()) == {"echo_suite"}
            assert "MY_TOKEN" not in asked(workspace)
            # The value that it was asked for once more keeps nobody apart.
            async with shim(workspace) as three:
                assert await pid_of(three) == await pid_of(two)
        workspace.mcp_json({"locked": entry})
        async with shim(workspace, env={"MY_TOKEN": "three"}) as four:
            assert (await environment(four, "locked_suite"))["TOKEN"] == "three"


async def test_everything_is_asked_for_only_as_long_as_a_server_inherits_it(
    workspace: Workspace,
) -> None:
    file = workspace.mcp_json({"heir": server(child_command("echo_child"), inherit_env=True)})
    async with shim(workspace, env={"ANYTHING": "goes"}) as one:
        assert (await environment(one, "heir_suite"))["ANYTHING"] == "goes"
        assert asked(workspace) == {"*"}
        file.unlink()
        async with shim(workspace, env={"ANYTHING": "else"}) as two, shim(workspace) as three:
            assert "*" not in asked(workspace)
            assert await pid_of(three) == await pid_of(two)


async def pid_of(client: StdioClient) -> int:
    result = await client.call_subtool("echo_suite", "report")
    return json.loads(json.loads(text_of(result))["content"][0]["text"])["pid"]


async def test_the_daemon_is_started_with_little(workspace: Workspace) -> None:
    async with shim(workspace, env={"SECRET_OF_MINE": "hush", "TERM": "vt100"}) as client:
        words = words_of(daemon_pid(workspace))
        assert "hush" not in words
        assert "vt100" not in words
        assert set(await environment(client)) <= {*BASE_NAMES, "LC_CTYPE"}


async def test_a_secret_is_asked_for_by_name_and_only_where_it_is_named(
    workspace: Workspace,
) -> None:
    entry = server(child_command("echo_child"), secret_env={"TOKEN": "env:MY_TOKEN"})
    workspace.mcp_json({"locked": entry})
    async with shim(workspace, env={"MY_TOKEN": "one"}) as one:
        assert (await environment(one, "locked_suite"))["TOKEN"] == "one"
        assert "TOKEN" not in await environment(one)
        async with shim(workspace, env={"MY_TOKEN": "two"}) as two:
            assert (await environment(two, "locked_suite"))["TOKEN"] == "two"
        async with shim(workspace) as none:
            refused = await none.call_subtool("locked_suite", "report")
            assert refused["isError"]
            assert "MY_TOKEN" in text_of(refused)
        # A third client with the first one's token shares its child.
        async with shim(workspace, env={"MY_TOKEN": "one"}) as three:
            assert (await environment(three, "locked_suite"))["TOKEN"] == "one"
        assert (await environment(one, "locked_suite"))["TOKEN"] == "one"
    assert "MY_TOKEN" not in words_of(daemon_pid(workspace))


async def test_placeholders_are_filled_from_the_client(workspace: Workspace) -> None:
    program, *args = child_command("echo_child")
    workspace.config_toml(
        f'[mcp_servers.filled]\ncommand = "{program}"\nargs = {json.dumps(args)}\n'
        'env = { MODE = "${MY_MODE}", DEPTH = "${MY_DEPTH:-shallow}" }\n'
    )
    async with shim(workspace, env={"MY_MODE": "fast"}) as one:
        found = await environment(one, "filled_suite")
        assert (found["MODE"], found["DEPTH"]) == ("fast", "shallow")
    async with shim(workspace, env={"MY_MODE": "slow", "MY_DEPTH": "deep"}) as two:
        found = await environment(two, "filled_suite")
        assert (found["MODE"], found["DEPTH"]) == ("slow", "deep")


async def test_a_variable_that_an_edit_names_is_asked_of_those_who_come_later(
    workspace: Workspace,
) -> None:
    async with shim(workspace) as one:
        await environment(one)
        entry = server(child_command("echo_child"), secret_env={"TOKEN": "env:MY_TOKEN"})
        workspace.mcp_json({"locked": entry})
        async with shim(workspace, env={"MY_TOKEN": "mine"}) as two:
            assert (await environment(two, "locked_suite"))["TOKEN"] == "mine"


async def test_a_server_that_inherits_gets_all_of_its_client(workspace: Workspace) -> None:
    entry = server(child_command("echo_child"), inherit_env=True)
    workspace.mcp_json({"heir": entry})
    async with shim(workspace, env={"ANYTHING": "goes"}) as client:
        assert (await environment(client, "heir_suite"))["ANYTHING"] == "goes"
        assert "ANYTHING" not in await environment(client)


async def test_bytes_that_are_no_text_survive(workspace: Workspace) -> None:
    entry = server(child_command("echo_child"), secret_env={"ODD": "env:ODD"})
    workspace.mcp_json({"odd": entry})
    async with shim(workspace, env={"ODD": "caf\udce9"}) as client:
        result = await client.call_subtool("odd_suite", "report")
        assert "caf" in text_of(result)


def test_a_hello_carries_no_more_than_its_list() -> None:
    names: list[str] = [*BASE_NAMES, "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN"]
    environ = dict.fromkeys(names, "x")
    assert set(hello_environment(environ)) == set(BASE_NAMES) - {"TERM"}


async def test_a_remote_server_is_reached_through_the_proxy_of_its_own_client(
    workspace: Workspace,
) -> None:
    workspace.mcp_json({"far": {"url": "http://far.example/mcp"}})
    async with proxy() as one, proxy() as two:
        for asked in (one, two):
            env = {"HTTP_PROXY": f"http://127.0.0.1:{asked.port}"}
            async with shim(workspace, env=env) as client:
                result = await client.call("far_suite", {"action": "introspect"})
                assert result["isError"]
        assert len(one.lines) == len(two.lines) > 0
        assert {line.split()[1] for line in one.lines} == {b"http://far.example/mcp"}


class Proxy:
    """A proxy that refuses everything and remembers what it was asked for."""

    def __init__(self) -> None:
        self.port = 0
        self.lines: list[bytes] = []

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.lines.append(await reader.readline())
        writer.write(b"HTTP/1.1 502 no\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()


@asynccontextmanager
async def proxy() -> AsyncGenerator[Proxy]:
    found = Proxy()
    async with await asyncio.start_server(found.answer, "127.0.0.1", 0) as server:
        found.port = server.sockets[0].getsockname()[1]
        yield found
