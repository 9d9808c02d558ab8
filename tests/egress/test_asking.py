"""Hosts that are asked about, behind a daemon: once, always, never, silence, and forgetting."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from cli.commands import Finished, switchboard
from egress.world import OwnProxy, Site
from support.mcp_stdio import StdioClient, talking_to, text_of
from support.reading import read_it
from support.requirements import requirement
from support.workspace import CHECKOUT, Workspace, child_command, server


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Workspace]:
    made = Workspace(tmp_path, daemon=True)
    yield made
    made.stop_daemon()


def url_server(workspace: Workspace, *hosts: str, **fields: Any) -> None:
    entry = server(
        child_command("url_child"),
        egress=list(hosts),
        egress_ask=True,
        read_roots=[str(CHECKOUT)],
        **fields,
    )
    workspace.mcp_json({"url": entry}, scope="home")


@asynccontextmanager
async def board(
    workspace: Workspace, capabilities: dict[str, Any] | None = None
) -> AsyncGenerator[StdioClient]:
    command = workspace.command("mcp")
    async with talking_to(command, cwd=workspace.root, env=workspace.env, patience=60) as client:
        await client.initialize(capabilities=capabilities)
        yield client
        await client.close()


@asynccontextmanager
async def board_of(
    workspace: Workspace, capabilities: dict[str, Any] | None = None
) -> AsyncGenerator[StdioClient]:
    """A board whose server may reach nothing that is there."""
    url_server(workspace, "localhost:1")
    async with board(workspace, capabilities) as client:
        yield client


async def typed(workspace: Workspace, *words: str) -> Finished:
    """What a person types who is no client."""
    return await asyncio.to_thread(switchboard, workspace, *words, apart=True)


def begun(client: StdioClient, site: Site) -> int:
    """A call that wants to be told how it goes on."""
    args = {"url": f"http://localhost:{site.port}/"}
    params = {
        "name": "url_suite",
        "arguments": {"action": "call", "subtool": "get", "args": args},
        "_meta": {"progressToken": "t"},
    }
    return client.begin("tools/call", params)


async def told(client: StdioClient) -> str:
    """The id of the question, as the call under way tells it."""
    progress = await client.message("notifications/progress")
    message: str = progress["params"]["message"]
    assert "wants to reach localhost:" in message
    return message.partition("approvals approve ")[2].strip("`")


@requirement("S3.104")
async def test_once_always_and_forgotten_again(shared: Workspace) -> None:
    async with Site().open() as site, board_of(shared) as client:
        where = f"localhost:{site.port}"
        first = begun(client, site)
        question = await told(client)
        rows = (await typed(shared, "approvals", "--json")).report["approvals"]
        assert [(each["id"], each["what"]) for each in rows] == [
            (question, f"{where}, which url wants to reach")
        ]
        said = await typed(shared, "approvals", "approve", question, "--yes")
        assert said.out.strip() == f"url may reach {where} this time"
        assert "hello" in json.dumps(await client.answer_to(first))
        # Once was once.
        second = begun(client, site)
        said = await typed(shared, "approvals", "approve", await told(client), "--yes", "--always")
        assert said.out.strip() == f"url may now always reach {where}"
        assert "hello" in json.dumps(await client.answer_to(second))
        assert "hello" in json.dumps(await client.answer_to(begun(client, site)))
        said = await typed(shared, "egress", "url", "--forget", where)
        assert f"forgotten: {where} is asked about again" in said.err
        third = begun(client, site)
        await typed(shared, "approvals", "deny", await told(client))
        answer = json.dumps(await client.answer_to(third))
        assert f"{where} is not on the list, and you said no" in answer
        assert f"switchboard egress url --forget {where}" in answer
        # A no holds for a while, and is forgotten by the very command that the answer names.
        assert "you said no" in json.dumps(await client.answer_to(begun(client, site)))
        assert (await typed(shared, "egress", "url", "--forget", where)).code == 0
        last = begun(client, site)
        await typed(shared, "approvals", "approve", await told(client), "--yes")
        assert "hello" in json.dumps(await client.answer_to(last))
        assert (await typed(shared, "egress", "url", "--forget", "never.test")).code == 1


@pytest.mark.parametrize(("action", "says"), [("accept", "hello"), ("decline", "you said no")])
async def test_a_client_that_can_ask_its_user_does(
    shared: Workspace, action: str, says: str
) -> None:
    forms: dict[str, Any] = {"elicitation": {"form": {}}}
    async with Site().open() as site, board_of(shared, forms) as client:
        call = begun(client, site)
        asked = await client.message("elicitation/create")
        assert f"localhost:{site.port}" in asked["params"]["message"]
        # For good is nothing that a client can say.
        assert asked["params"]["requestedSchema"]["properties"] == {}
        await read_it()
        client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": action}})
        assert says in json.dumps(await client.answer_to(call))


async def test_a_question_goes_when_its_process_has_ended(shared: Workspace) -> None:
    async with Site().open() as site, board_of(shared) as client:
        call = begun(client, site)
        await told(client)
        status = (await typed(shared, "status", "--json")).report
        (pid,) = {each["pid"] for each in status["daemon"]["children"] if each["pid"]}
        os.kill(pid, signal.SIGKILL)
        await client.answer_to(call)
        for _ in range(100):
            if not (await typed(shared, "approvals", "--json")).report["approvals"]:
                break
        else:
            raise AssertionError("it still waits")


async def test_whoever_types_call_is_told_what_it_waits_for(shared: Workspace) -> None:
    async with Site().open() as site:
        url_server(shared, "localhost:1")
        url = f"http://localhost:{site.port}/"
        words = ("call", "url", "get", "--args", json.dumps({"url": url}))
        process = await asyncio.create_subprocess_exec(
            *shared.command(*words),
            cwd=shared.root,
            env=shared.env,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stderr is not None
        async with asyncio.timeout(60):
            while b"wants to reach" not in (line := await process.stderr.readline()):
                assert line, "it ended without a word"
        assert f"localhost:{site.port}".encode() in line
        question = line.decode().strip().rpartition(" ")[2]
        await typed(shared, "approvals", "approve", question, "--yes")
        out, _ = await process.communicate()
        assert out.strip() == b"hello"


async def test_the_proxy_of_the_session_is_used_through_the_daemon(shared: Workspace) -> None:
    async with Site().open() as site, OwnProxy(site.port).open() as own:
        shared.env["http_proxy"] = f"http://127.0.0.1:{own.port}"
        url_server(shared, "api.test")
        async with board(shared) as client:
            wanted = {"url": "http://api.test/"}
            answer = await client.call_subtool("url_suite", "get", wanted)
            assert text_of(answer).count("through the proxy") == 1
        assert own.requests[0].startswith(b"GET http://api.test/ HTTP/1.1\r\n")


async def test_a_name_of_nothing_is_said_to_be_none(shared: Workspace) -> None:
    url_server(shared, "api.test")
    said = await typed(shared, "egress", "urk")
    assert said.code == 1
    assert "no server and no suite is named `urk`" in said.err
    assert "url" in said.err.partition("hint")[2]
    said = await typed(shared, "egress", "url")
    assert said.code == 0
    assert "no daemon runs" in said.err
