"""A value that Switchboard looked up for a server is told nowhere, whoever says it."""

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gate.ground import FORMS, Gate, answered, asked, fault, said
from support.mcp_stdio import RpcError, StdioClient
from support.requirements import attack, requirement
from support.workspace import Json, child_command, server

SECRET = "qwertz/4711 & Ährenfeld"
SUITE = "talkative_suite"
CHILD = child_command("talkative_child")
OTHER = {"SWITCHBOARD_TESTS_WORD": "something else"}
Declare = Callable[[Gate], None]
VARIABLES = {"SWITCHBOARD_TESTS_WORD": SECRET, "LOG_TO_FILE": "1", "TRACING_FILTER": "trace"}


def looked_up(gate: Gate) -> None:
    gate.guard()
    entry = server(CHILD, secret_env={"SECRET_OF_MINE": "env:SWITCHBOARD_TESTS_WORD"})
    gate.workspace.mcp_json({"talkative": entry}, scope="home")


def for_everybody(gate: Gate) -> None:
    gate.guard()
    secret = {"SECRET_OF_MINE": "env:SWITCHBOARD_TESTS_WORD"}
    entry = server(CHILD, secret_env=secret, scope="user")
    gate.workspace.mcp_json({"talkative": entry}, scope="home")


def filled(gate: Gate, field: str) -> None:
    lines = (
        "enable_mcp_server_surface = true",
        "[mcp_servers.talkative]",
        f"command = {json.dumps(CHILD[0])}",
        field,
    )
    gate.workspace.config_toml("\n".join(lines), scope="home")


def in_a_variable(gate: Gate) -> None:
    filled(
        gate, f'args = {json.dumps(CHILD[1:])}\nenv.SECRET_OF_MINE = "${{SWITCHBOARD_TESTS_WORD}}"'
    )


def on_the_command_line(gate: Gate) -> None:
    filled(gate, f"args = {json.dumps([*CHILD[1:], '${SWITCHBOARD_TESTS_WORD}'])}")


def inherited(gate: Gate) -> None:
    gate.guard()
    entry = server(CHILD, inherit_env=True)
    gate.workspace.mcp_json({"talkative": entry}, scope="home")


WAYS = pytest.mark.parametrize(
    "declare", [looked_up, for_everybody, in_a_variable, on_the_command_line, inherited]
)


@asynccontextmanager
async def window(gate: Gate, declare: Declare) -> AsyncGenerator[StdioClient]:
    """Give a client of a board whose one server knows the secret."""
    declare(gate)
    env = {**VARIABLES, "SECRET_OF_MINE": SECRET} if declare is inherited else VARIABLES
    async with gate.window(capabilities=FORMS, env=env) as client:
        yield client


def params(subtool: str, **args: object) -> Json:
    wanted = {"action": "call", "subtool": subtool, "args": args}
    return {"name": SUITE, "arguments": wanted, "_meta": {"progressToken": 1}}


async def call(client: StdioClient, subtool: str) -> Json:
    return await client.request("tools/call", params(subtool))


def telling(text: str) -> list[str]:
    """Give the places of a text at which the secret, or half of it, can be read."""
    half = len(SECRET) // 2
    forms = {
        form
        for value in (SECRET[:half], SECRET[half:])
        for form in (value, json.dumps(value)[1:-1], value.encode().hex())
    }
    return [form for form in sorted(forms) if form in text]


def files(gate: Gate) -> dict[Path, str]:
    """Give every file of the home but the configuration and the memory of listings."""
    home = gate.workspace.home
    kept = (path for path in home.rglob("*") if path.is_file() and path.suffix != ".toml")
    return {
        path.relative_to(home): path.read_bytes().decode("utf-8", "replace")
        for path in kept
        if path.name != "mcp.json" and "cache" not in path.parts
    }


@requirement("S3.43", "S3.49", "S3.50", "S3.51", "S3.67")
@WAYS
async def test_a_secret_is_in_no_question_whoever_tells_it(gate: Gate, declare: Declare) -> None:
    async with window(gate, declare) as client:
        more = {SECRET: {"api_token": 1}}
        begun = client.begin("tools/call", params("write", text=f"<{SECRET}>", more=more))
        question = await asked(client)
        assert telling(json.dumps(question, ensure_ascii=False)) == []
        prompt = question["params"]["message"]
        assert '"text": "<[redacted]>"' in prompt
        assert "Writes with [redacted], or [redacted]." in prompt
        # That something is hidden is said.
        assert "Hidden arguments: text" in prompt
        [entry] = (await gate.type("approvals", "list", "--json")).report["approvals"]
        for words in (("show", entry["id"]), ("show", entry["id"], "--json"), ("list", "--json")):
            assert telling((await gate.type("approvals", *words)).out) == []
        answered(client, question, "allow_once")
        # What was agreed to is what is sent: the tool gets the value.
        assert said((await client.answer_to(begun))["result"]) == f"{len(SECRET) + 2} letters"
    assert telling(json.dumps(await gate.records(), ensure_ascii=False)) == []
    assert {path: found for path, text in files(gate).items() if (found := telling(text))} == {}


@attack("T72")
@pytest.mark.parametrize(
    "entry",
    [
        {**server(["sleep", "100"]), "env": {"NOTES_TOKEN": SECRET}},
        {"url": "http://127.0.0.1:9/mcp", "headers": {"X-Api-Key": SECRET}},
    ],
)
async def test_a_word_of_a_repository_hides_nothing_from_who_decides(
    gate: Gate, entry: Json
) -> None:
    looked_up(gate)
    gate.workspace.mcp_json({"notes": entry})
    # The user's own server knows nothing of it.
    async with gate.window(capabilities=FORMS, env={**VARIABLES, **OTHER}) as client:
        begun = client.begin("tools/call", params("write", text=SECRET))
        question = await asked(client)
        assert f'"text": "{SECRET}"' in question["params"]["message"]
        assert "Hidden" not in question["params"]["message"]
        answered(client, question, "deny")
        await client.answer_to(begun)


@requirement("S3.29", "S3.32")
async def test_a_folder_that_a_variable_names_is_no_secret(gate: Gate) -> None:
    path = str(gate.workspace.root)
    args = json.dumps([*CHILD[1:], "${SWITCHBOARD_TESTS_ROOT}"])
    filled(gate, f"args = {args}\ninherit_env = true")
    # A shell sets the other one, and it sounds like a password.
    env = {"SWITCHBOARD_TESTS_ROOT": path, "PWD": path}
    async with gate.window(env=env) as client:
        begun = client.begin("tools/call", params("write", text=f"{path}/notes.txt"))
        question = await asked(client)
        assert f'"text": "{path}/notes.txt"' in question["params"]["message"]
        answered(client, question, "deny")
        await client.answer_to(begun)


@requirement("S3.49", "S3.55", "S3.67")
@WAYS
async def test_a_secret_is_in_no_error_log_event_or_status(gate: Gate, declare: Declare) -> None:
    async with window(gate, declare) as client:
        refused = await call(client, "refuse")
        assert "[redacted] was refused" in fault(refused)["message"]
        assert said(await call(client, "say")) == "said"
        progress = await client.message("notifications/progress")
        assert progress["params"]["message"] == "log in with [redacted]"
        logged = await client.message("notifications/message")
        assert logged["params"]["data"] == {"key": "[redacted]", "tries": 3}
        begun = client.begin("tools/call", params("ask"))
        question = await asked(client)
        assert question["params"]["message"].endswith("asks: Is [redacted] right?")
        answered(client, question, "decline")
        assert said((await client.answer_to(begun))["result"]) == "decline"
        died = await call(client, "die")
        assert fault(died)["reason"] == "child-exited"
        status = await gate.type("status", "--json")
        events = await gate.type("events", "--last", "100", "--json")
        assert "ChildExited" in events.out
        for message in client.messages:
            assert telling(json.dumps(message, ensure_ascii=False)) == []
        assert telling(status.out + events.out + client.stderr) == []
    gate.workspace.stop_daemon()
    found = files(gate)
    logs = [text for path, text in found.items() if path.suffix == ".log"]
    assert any("stderr_tail" in text for text in logs)
    assert {path: told for path, text in found.items() if (told := telling(text))} == {}


@requirement("S3.49", "S3.67")
async def test_a_secret_in_a_changed_definition_is_not_kept(gate: Gate) -> None:
    async with window(gate, looked_up) as client:
        begun = client.begin("tools/call", params("write"))
        answered(client, await asked(client), "allow_once")
        await client.answer_to(begun)
        await call(client, "reword")
        assert fault(await call(client, "write"))["reason"] == "definition-changed"
        [entry] = await gate.waiting()
        shown = await gate.type("approvals", "show", entry["id"])
        assert "[redacted] elsewhere" in shown.out
        assert telling(shown.out) == []
    gate.workspace.stop_daemon()
    assert {path: told for path, text in files(gate).items() if (told := telling(text))} == {}


@requirement("S3.49", "S3.55")
async def test_a_secret_is_not_in_an_error_that_is_passed_on_as_it_is(gate: Gate) -> None:
    gate.guard()
    secret = {"SECRET_OF_MINE": "env:SWITCHBOARD_TESTS_WORD"}
    entry = server(CHILD, secret_env=secret, expose="tools")
    gate.workspace.mcp_json({"talkative": entry}, scope="home")
    async with gate.window(env=VARIABLES) as client:
        with pytest.raises(RpcError) as caught:
            await client.call("refuse", {})
    assert caught.value.data == {"tried": ["[redacted]"], "[redacted]": 1}
    assert telling(str(caught.value)) == []


@requirement("S3.43", "S3.50", "S3.51")
async def test_what_a_command_tool_is_given_is_in_no_question(gate: Gate) -> None:
    lines = (
        "enable_mcp_server_surface = true",
        "[mcp.deploy]",
        'command = "true"',
        'sandbox_profile = "none"',
        'env.STAGE = "${SWITCHBOARD_TESTS_WORD}"',
    )
    gate.workspace.config_toml("\n".join(lines), scope="home")
    async with gate.window(env=VARIABLES) as client:
        begun = client.begin("tools/call", {"name": "deploy", "arguments": {"to": SECRET}})
        question = await asked(client)
        assert "STAGE is set (hidden)" in question["params"]["message"]
        assert '"to": "[redacted]"' in question["params"]["message"]
        assert telling(json.dumps(question, ensure_ascii=False)) == []
        answered(client, question, "deny")
        await client.answer_to(begun)
