"""`switchboard bridge NAME` offers one server under its own names, through the board."""

import asyncio
import json
import re
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from support.daemons import shim, status
from support.hosts import codex_program, run_codex
from support.mcp_stdio import StdioClient, talking_to, text_of
from support.models.responses import responses_model
from support.models.script import say, use
from support.remotes import everything_over_http
from support.requirements import requirement
from support.workspace import NODE_MODULES, Json, Workspace, child_command, server
from switchboard.core.board_mark import board_mark
from switchboard.core.bus import EventBus
from switchboard.daemon.board.registry import BoardRegistry
from switchboard.daemon.board.sharing.shared_children import SharedChildren
from switchboard.daemon.hello import Hello
from switchboard.daemon.logs.recent_events import RecentEvents

NPM = NODE_MODULES / "@modelcontextprotocol"


def npm(name: str, *args: str, **more: Json) -> Json:
    return server(["node", NPM / f"server-{name}" / "dist" / "index.js", *args], **more)


@asynccontextmanager
async def bridge(
    workspace: Workspace, *words: str, env: dict[str, str] | None = None
) -> AsyncGenerator[StdioClient]:
    command = workspace.command("bridge", *words)
    env = {**workspace.env, **(env or {})}
    async with talking_to(command, cwd=workspace.root, env=env) as client:
        yield client


def pid_in(result: Json) -> int:
    """The process that the child says it is, also in the JSON text of a suite."""
    found = re.search(r'\\?"pid\\?": ?(\d+)', text_of(result))
    assert found is not None, result
    return int(found[1])


async def refused(workspace: Workspace, *words: str) -> str:
    """What a bridge says that cannot be had."""
    process = await asyncio.create_subprocess_exec(
        *workspace.command("bridge", *words),
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        cwd=workspace.root,
        env=workspace.env,
    )
    async with asyncio.timeout(60):
        out, err = await process.communicate()
    assert process.returncode == 1
    assert out == b""
    return err.decode()


@pytest.mark.parametrize("place", ["daemon", "in-process"])
async def test_a_server_is_offered_under_the_names_of_its_own_tools(
    workspace: Workspace, place: str
) -> None:
    workspace.echo_child()
    workspace.echo_child("second")
    words = ["--in-process"] if place == "in-process" else []
    async with bridge(workspace, "echo", *words) as client:
        told = await client.initialize()
        assert "`echo`" in told["instructions"]
        tools = await client.tools()
        assert "echo" in tools
        assert not any("suite" in name for name in tools)
        assert text_of(await client.call("echo", {"text": "marco"})) == "echo: marco"
        assert await client.close() == 0
        assert client.junk == []
    assert (status(workspace) is None) == (place == "in-process")


async def test_a_client_without_a_handshake_is_served_too(workspace: Workspace) -> None:
    workspace.echo_child()
    async with bridge(workspace, "echo_suite") as client:
        await client.discover()
        assert "echo" in await client.tools()
        assert text_of(await client.call("echo", {"text": "polo"})) == "echo: polo"


async def test_a_prefix_for_other_clients_is_not_put_before_its_tools(
    workspace: Workspace,
) -> None:
    workspace.echo_child()
    workspace.config_json({"suites": {"echo": {"expose": "tools", "toolPrefix": "e_"}}})
    async with shim(workspace) as host, bridge(workspace, "echo") as client:
        await client.initialize()
        assert "e_echo" in await host.tools()
        assert "echo" in await client.tools()
        first = pid_in(await host.call("e_report", {}))
        second = pid_in(await client.call("report", {}))
        assert first == second


async def test_it_shares_the_process_that_other_clients_use(workspace: Workspace) -> None:
    workspace.echo_child()
    async with shim(workspace) as host, bridge(workspace, "echo") as client:
        await client.initialize()
        first = pid_in(await host.call_subtool("echo_suite", "report"))
        second = pid_in(await client.call("report", {}))
        assert first == second
        await client.close()
        third = pid_in(await host.call_subtool("echo_suite", "report"))
        assert third == first


async def test_prompts_and_resources_of_the_server_are_offered(workspace: Workspace) -> None:
    workspace.mcp_json({"everything": npm("everything")})
    async with bridge(workspace, "everything") as client:
        await client.initialize()
        assert "get-sum" in await client.tools()
        assert text_of(await client.call("get-sum", {"a": 19, "b": 23})).find("42") >= 0
        assert (await client.request("prompts/list"))["prompts"]
        resources = (await client.request("resources/list"))["resources"]
        read = await client.request("resources/read", {"uri": resources[0]["uri"]})
        assert read["contents"]


@requirement("S0.112")
async def test_a_remote_server_becomes_one_that_a_client_can_start(workspace: Workspace) -> None:
    async with everything_over_http() as url:
        workspace.mcp_json({"far": {"transport": "http", "url": url}})
        async with bridge(workspace, "far") as client:
            await client.initialize()
            assert text_of(await client.call("echo", {"message": "hä"})) == "Echo: hä"


async def test_calls_pass_the_gate_of_the_board(workspace: Workspace) -> None:
    workspace.echo_child()
    workspace.config_toml("guard = true\n", scope="home")
    async with bridge(workspace, "echo") as client:
        await client.initialize()
        answer = client.begin("tools/call", {"name": "fail", "arguments": {"why": "x"}})
        listed = await _approval(workspace)
        assert listed["tool"] == "fail"
        await client.notify("notifications/cancelled", {"requestId": answer})


async def _approval(workspace: Workspace) -> Json:
    """The question that the queue has sooner or later."""
    async with asyncio.timeout(30):
        while True:
            process = await asyncio.create_subprocess_exec(
                *workspace.command("approvals", "list", "--json"),
                stdout=PIPE,
                cwd=workspace.root,
                env=workspace.env,
            )
            out, _ = await process.communicate()
            waiting = json.loads(out)["approvals"]
            if waiting:
                return waiting[0]


async def test_an_unknown_name_is_one_error_that_says_which_was_meant(
    workspace: Workspace,
) -> None:
    workspace.echo_child()
    said = await refused(workspace, "ehco")
    assert "no server and no suite is named `ehco`" in said
    assert "did you mean `echo`?" in said
    assert "Traceback" not in said
    # One that is near to nothing is told what there is, also what waits for trust.
    del workspace.env["SWITCHBOARD_TRUST_WORKSPACE"]
    assert "known: `echo`" in await refused(workspace, "telescope")


async def test_a_server_that_nobody_trusts_is_not_bridged(workspace: Workspace) -> None:
    workspace.echo_child()
    del workspace.env["SWITCHBOARD_TRUST_WORKSPACE"]
    assert "switchboard trust echo" in await refused(workspace, "echo")


async def test_a_server_that_is_hidden_from_clients_is_not_bridged(workspace: Workspace) -> None:
    workspace.echo_child()
    workspace.config_toml('[tools]\ndeny = ["echo_suite"]\n')
    assert "is not shown to clients" in await refused(workspace, "echo")


async def test_the_board_is_found_by_its_mark_whatever_the_environment(
    workspace: Workspace,
) -> None:
    """An engine gives its servers few variables: what a board was made with is not among them."""
    workspace.config_toml(
        f"[mcp_servers.secret]\ncommand = {json.dumps(sys.executable)}\n"
        f"args = {json.dumps(child_command('echo_child')[1:])}\n"
        'env = { KEY = "${TOP_SECRET}" }\n',
        scope="home",
    )

    async def known(names: Sequence[str]) -> dict[str, str]:
        return {"TOP_SECRET": "s3cret-value"} if "TOP_SECRET" in names else {}

    async def unknown(_names: Sequence[str]) -> dict[str, str]:
        return {}

    hello = Hello(
        magic="switchboard",
        abi="",
        kind="client",
        home=str(workspace.home),
        cwd=str(workspace.root),
    )
    shared = SharedChildren(EventBus())
    boards = BoardRegistry(RecentEvents(), shared)
    try:
        board = await boards.board_for(hello, known)
        marked = replace(hello, bridge="secret", board=board.mark)
        assert await boards.board_for(marked, unknown) is board
        # Without the variable the file cannot be used, so nobody has its server.
        other = await boards.board_for(replace(marked, board="of nobody"), unknown)
        assert (other is board, other.server_names) == (False, set())
    finally:
        await boards.aclose()
        await shared.aclose()


async def test_codex_calls_a_tool_of_a_bridged_server(workspace: Workspace) -> None:
    file = workspace.root / "memory.jsonl"
    workspace.mcp_json({"memory": npm("memory", env={"MEMORY_FILE_PATH": str(file)})})
    entity = {"name": "Ada", "entityType": "person", "observations": ["wrote notes"]}
    steps = (use("create_entities", entities=[entity]), say("done"))
    with responses_model(*steps) as model:
        servers = {"memory": server(workspace.command("bridge", "memory"))}
        finished = await run_codex(codex_program(), model, workspace, servers)
    assert finished.code == 0, finished.stderr
    assert json.loads(file.read_text("utf-8").splitlines()[0])["name"] == "Ada"


def test_a_mark_tells_boards_apart_and_nothing_of_their_values() -> None:
    one = board_mark("/w", {"KEY": "hunter2"})
    assert one == board_mark("/w", {"KEY": "hunter2"})
    assert (
        len({one, board_mark("/w", {"KEY": "hunter3"}), board_mark("/v", {"KEY": "hunter2"})}) == 3
    )
    assert board_mark("/w", {"A": "BC"}) != board_mark("/w", {"AB": "C"})
