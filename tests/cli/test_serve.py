"""`serve` and `mcp`: how they are started, and what their streams carry."""

import asyncio
import json
import os
import re
import signal
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

import pytest

from cli.commands import switchboard
from support.endpoints import PATIENCE, serving
from support.mcp_stdio import StdioClient, talking_to
from support.processes import wait_until_none_mention
from support.requirements import requirement
from support.workspace import Workspace


@asynccontextmanager
async def talking(
    workspace: Workspace, *words: str, env: Mapping[str, str] = {}
) -> AsyncGenerator[StdioClient]:
    command = workspace.command(*words)
    async with talking_to(command, cwd=workspace.root, env={**workspace.env, **env}) as client:
        await client.initialize()
        yield client


@requirement("S0.120")
@pytest.mark.parametrize(
    ("words", "env"),
    [
        (("mcp",), {}),
        (("mcp",), {"TRANSPORT": "http"}),
        (("serve",), {}),
        (("serve",), {"TRANSPORT": "stdio"}),
        (("serve", "--stdio"), {"TRANSPORT": "http"}),
    ],
)
async def test_stdio_is_served(
    workspace: Workspace, words: tuple[str, ...], env: dict[str, str]
) -> None:
    workspace.echo_child("one")
    async with talking(workspace, *words, env=env) as client:
        assert set(await client.tools()) == {"one_suite"}
        assert await client.close() == 0
        assert client.junk == []
    wait_until_none_mention(str(workspace.root))


@requirement("S0.120", "S0.121")
async def test_http_is_served_where_the_environment_says(workspace: Workspace) -> None:
    env = {"TRANSPORT": "http", "HOST": "127.0.0.1", "PORT": "0"}
    async with serving(workspace, env=env) as endpoint:
        assert endpoint.report["schema"] == "switchboard.serve/1"
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/mcp", endpoint.url)
        assert endpoint.report["token_from"] == str(workspace.home / "http-token")
        assert await endpoint.ends(signal.SIGINT) == 0
    wait_until_none_mention(str(workspace.root))


@requirement("S0.121")
async def test_flags_outrank_the_environment(workspace: Workspace) -> None:
    env = {"TRANSPORT": "stdio", "HOST": "0.0.0.0", "PORT": "1"}
    words = ("--http", "--host", "localhost", "--port", "0")
    async with serving(workspace, *words, env=env) as endpoint:
        port = int(endpoint.base.rsplit(":", 1)[1])
        assert port > 1
        reader, writer = await asyncio.open_connection("localhost", port)
        writer.close()
        del reader


async def test_the_token_is_never_told(workspace: Workspace) -> None:
    env = {"SWITCHBOARD_TOKEN": "a-token-of-the-user"}
    async with serving(workspace, env=env) as endpoint:
        assert endpoint.report["token_from"] == "$SWITCHBOARD_TOKEN"
        endpoint.process.send_signal(signal.SIGTERM)
        out, err = await endpoint.process.communicate()
    assert b"a-token-of-the-user" not in json.dumps(endpoint.report).encode() + out + err


@requirement("S0.122")
@pytest.mark.parametrize(
    ("flag", "line"),
    [
        ("TRACING_JSON", r'\{"ts":"[^"]+","level":"info","event":"ConfigLoaded".*\}'),
        ("TRACING_COMPACT", r"\S+Z info ConfigLoaded servers=0.*"),
        ("TRACING_PRETTY", r"\S+Z INFO  ConfigLoaded"),
    ],
)
async def test_the_environment_chooses_the_form_of_the_log(
    workspace: Workspace, flag: str, line: str
) -> None:
    async with talking(workspace, "mcp", env={flag: "1"}) as client:
        await client.close()
        assert re.fullmatch(line, client.stderr.splitlines()[0])


@requirement("S0.123")
@pytest.mark.parametrize("variable", ["RUST_LOG", "TRACING_FILTER"])
async def test_the_environment_chooses_what_is_logged(workspace: Workspace, variable: str) -> None:
    async with talking(workspace, "mcp", env={variable: "off"}) as client:
        await client.close()
        assert client.stderr == ""
    async with talking(workspace, "mcp", env={variable: "warn,switchboard=debug"}) as client:
        await client.close()
        assert "ConfigLoaded" in client.stderr


async def test_an_edited_file_takes_effect_while_serving(workspace: Workspace) -> None:
    workspace.echo_child("one")
    async with talking(workspace, "mcp") as client:
        assert set(await client.tools()) == {"one_suite"}
        workspace.echo_child("two")
        await client.message("notifications/tools/list_changed")
        assert set(await client.tools()) == {"one_suite", "two_suite"}
        await client.close()


@pytest.mark.parametrize("words", [("mcp",), ("serve", "--stdio"), ("serve", "--http")])
def test_a_bad_variable_ends_before_anything_is_served(
    workspace: Workspace, words: tuple[str, ...]
) -> None:
    """A bad file does not: it is left out."""
    done = switchboard(workspace, *words, env={"ENABLE_MCP_SERVER_SURFACE": "perhaps"})
    assert (done.code, done.out) == (2, "")
    assert "ENABLE_MCP_SERVER_SURFACE" in done.err


@pytest.mark.parametrize(
    ("words", "env"),
    [
        (("serve", "--stdio", "--http"), {}),
        (("serve", "--port", "9000"), {}),
        (("serve", "--http", "--port", "notaport"), {}),
        (("serve", "--http", "--port", "70000"), {}),
        (("serve",), {"TRANSPORT": "carrier-pigeon"}),
        (("serve",), {"TRANSPORT": "http", "PORT": "x"}),
        (("mcp", "--http"), {}),
        (("mcp", "word"), {}),
    ],
)
def test_serving_that_makes_no_sense_ends_with_2(
    workspace: Workspace, words: tuple[str, ...], env: dict[str, str]
) -> None:
    done = switchboard(workspace, *words, env=env)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: ")


def test_other_machines_are_not_served_by_accident(workspace: Workspace) -> None:
    done = switchboard(workspace, "serve", "--http", "--host", "0.0.0.0", "--port", "0")
    assert (done.code, done.out) == (1, "")
    assert "0.0.0.0" in done.err


async def test_ctrl_c_during_a_call_ends_with_130_and_leaves_nothing(workspace: Workspace) -> None:
    # The child tells that the call has arrived by making a file that is watched from outside.
    fifo = workspace.root / "arrived"
    os.mkfifo(fifo)
    workspace.mcp_json({"slow": {"command": "sh", "args": ["-c", f"echo > {fifo}; sleep 600"]}})
    process = await asyncio.create_subprocess_exec(
        *workspace.command("call", "slow", "x"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
        cwd=workspace.root,
        env=workspace.env,
    )
    async with asyncio.timeout(PATIENCE):
        await asyncio.to_thread(fifo.read_text)
        process.send_signal(signal.SIGINT)
        out, err = await process.communicate()
    assert (process.returncode, out, err) == (130, b"", b"")
    wait_until_none_mention(str(workspace.root))
