"""Hosts, whole, are stopped at the gate and go on when a person says so.

What each declares when it runs without a person in front of it, and does when it is asked:

| host | declares | answers by itself |
|---|---|---|
| Claude Code, handshake | `elicitation: {}` | cancel |
| Claude Code, 2026-07-28 | `elicitation: {form, url}` | cancel |
| Codex | `elicitation: {form, url}` | decline |
| opencode | nothing | - |
| Gemini CLI | nothing | - |

So nobody sees a question there. That no is nobody's: the call waits in the queue, where a person
can answer it, and what the model is told says so. A host that declares nothing is not even asked.
"""

import asyncio
import json
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gate.ground import Gate
from support.hosts import (
    Finished,
    claude_program,
    codex_program,
    gemini_program,
    opencode_program,
    run_claude,
    run_codex,
    run_gemini,
    run_opencode,
)
from support.models.generate_content import generate_content_model
from support.models.loopback import ScriptedModel
from support.models.messages import messages_model
from support.models.responses import responses_model
from support.models.script import say, use
from support.processes import descendants_of, until_true
from support.requirements import requirement
from support.workspace import NODE_MODULES, Json, server

MEMORY = NODE_MODULES / "@modelcontextprotocol" / "server-memory" / "dist" / "index.js"
ADA: Json = {"name": "Ada", "entityType": "person", "observations": ["wrote notes"]}
SCRIPT = (
    use("memory_suite", action="call", subtool="create_entities", args={"entities": [ADA]}),
    use("memory_suite", action="call", subtool="read_graph", args={}),
    say("done"),
)


class Host(NamedTuple):
    """A program that uses MCP servers, and what it does when it is asked and nobody is there."""

    program: Callable[[], Path]
    model: Callable[..., AbstractContextManager[ScriptedModel]]
    run: Callable[..., Any]
    # What it declares of elicitation, and says to a question by itself; nothing if it has none.
    elicitation: Json | None = None
    says: str = ""


HOSTS = {
    "claude-code": Host(claude_program, messages_model, run_claude, {}, "cancel"),
    "claude-code-modern": Host(
        partial(claude_program, "claude-modern"),
        messages_model,
        partial(run_claude, tool_search=True),
        {"form": {}, "url": {}},
        "cancel",
    ),
    "codex": Host(codex_program, responses_model, run_codex, {"form": {}, "url": {}}, "decline"),
    "opencode": Host(opencode_program, responses_model, run_opencode),
    "gemini": Host(gemini_program, generate_content_model, run_gemini),
}
ASKED = [name for name, host in HOSTS.items() if host.elicitation is not None]
NEVER_ASKED = [name for name in HOSTS if name not in ASKED]


class Memory:
    """The reference server `memory` behind the gate, and the file that it keeps."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate
        self.file = gate.workspace.root / "memory.jsonl"
        entry = server(["node", MEMORY], env={"MEMORY_FILE_PATH": str(self.file)})
        gate.workspace.mcp_json({"memory": entry})

    async def play(self, host: Host, heard: Path | None = None) -> ScriptedModel:
        """Let the host play the script; what it says to Switchboard is copied to a file."""
        async with self.gate.window():
            # The daemon runs before the host does, which waits for a server only so long.
            command = self.gate.workspace.command("mcp")
        if heard is not None:
            command = ["sh", "-c", 'tee "$0" | "$@"', str(heard), *command]
        with host.model(*SCRIPT) as model:
            board = {"board": server(command)}
            done: Finished = await host.run(host.program(), model, self.gate.workspace, board)
        assert done.code == 0, done.stderr + done.stdout
        return model

    @property
    def kept(self) -> list[str]:
        if not self.file.exists():
            return []
        return [json.loads(line)["name"] for line in self.file.read_text("utf-8").splitlines()]


@pytest.fixture
def memory(gate: Gate) -> Memory:
    return Memory(gate)


@pytest.fixture(params=HOSTS)
def host(request: pytest.FixtureRequest) -> Host:
    return HOSTS[request.param]


@requirement("S3.26", "S3.33", "S3.34", "S3.104", "S3.105")
async def test_a_run_is_stopped_approved_from_the_command_line_and_goes_on(
    host: Host, memory: Memory
) -> None:
    gate = memory.gate
    gate.guard(approval_channel="console")
    playing = asyncio.ensure_future(memory.play(host))
    [entry] = await gate.waiting(meanwhile=playing)
    assert (entry["tool"], entry["of"], entry["risk"]) == (
        "create_entities",
        "memory_suite",
        "medium",
    )
    shown = (await gate.type("approvals", "show", entry["id"], "--json")).report
    # The host itself is the client that may not answer; this test does not descend from it.
    assert shown["question"]["client_pid"] in descendants_of(os.getpid())
    assert '"name": "Ada"' in shown["question"]["prompt"]
    assert memory.kept == []
    await gate.decide("approve")
    model = await playing
    assert memory.kept == ["Ada"]
    created, graph = model.results
    assert "Ada" in created
    assert "permission_denied" not in created
    assert "Ada" in graph
    assert await gate.waiting(0) == []
    started = await gate.records(event="tool.call.started")
    assert [(record["tool"], record["approval"]["channel"]) for record in started] == [
        ("create_entities", "cli")
    ]


@requirement("S3.34")
@pytest.mark.parametrize("host", ASKED, indirect=True)
async def test_a_run_that_is_denied_goes_on_without_the_effect(host: Host, memory: Memory) -> None:
    memory.gate.guard(approval_channel="console")
    playing = asyncio.ensure_future(memory.play(host))
    await memory.gate.waiting(meanwhile=playing)
    await memory.gate.decide("deny")
    model = await playing
    assert memory.kept == []
    created, graph = model.results
    assert "the user does not want `create_entities` to run" in created
    # It only reads, so nobody is asked.
    assert "permission_denied" not in graph


def declared(heard: Path) -> Json:
    """Give the capabilities that the host has declared with its first words."""
    first = json.loads(heard.read_text("utf-8").splitlines()[0])["params"]
    if "capabilities" in first:
        return first["capabilities"]
    return first["_meta"]["io.modelcontextprotocol/clientCapabilities"]


def replies(heard: Path) -> list[str]:
    """Give what the host said to questions, in either era."""
    found: list[str] = []
    for line in heard.read_text("utf-8").splitlines():
        message: Json = json.loads(line)
        answers = message.get("params", {}).get("inputResponses") or {"": message.get("result")}
        found += [each["action"] for each in answers.values() if each and "action" in each]
    return found


@requirement("S3.26", "S3.34")
@pytest.mark.parametrize("host", ASKED, indirect=True)
async def test_a_host_without_a_person_says_no_by_itself_and_the_call_waits_in_the_queue(
    host: Host, memory: Memory, tmp_path: Path
) -> None:
    heard = tmp_path / "heard.jsonl"
    playing = asyncio.ensure_future(memory.play(host, heard))
    await memory.gate.waiting(meanwhile=playing)
    assert memory.kept == []
    await until_true(lambda: host.says in replies(heard))
    await memory.gate.decide("approve")
    model = await playing
    assert set(replies(heard)) == {host.says}
    assert memory.kept == ["Ada"]
    assert "permission_denied" not in model.results[0]
    [decided] = await memory.gate.records(event="approval.decided")
    assert (decided["approval"]["decision"], decided["approval"]["channel"]) == ("approved", "cli")


@pytest.mark.parametrize("host", ASKED, indirect=True)
async def test_a_host_without_a_person_is_told_that_nobody_was_asked(
    host: Host, memory: Memory, tmp_path: Path
) -> None:
    memory.gate.guard(approval_timeout=5)
    heard = tmp_path / "heard.jsonl"
    model = await memory.play(host, heard)
    assert memory.kept == []
    assert declared(heard)["elicitation"] == host.elicitation
    told = model.results[0]
    assert "answered at once, without asking its user" in told
    assert "the user does not want" not in told
    assert "switchboard approvals watch" in told
    [refused] = await memory.gate.records(event="tool.call.refused")
    assert refused["reason"] == "approval-expired"


@requirement("S3.26", "S3.34")
@pytest.mark.parametrize("host", NEVER_ASKED, indirect=True)
async def test_a_host_that_cannot_ask_waits_in_the_queue_and_is_told_when_nobody_answers(
    host: Host, memory: Memory, tmp_path: Path
) -> None:
    memory.gate.guard(approval_timeout=5)
    heard = tmp_path / "heard.jsonl"
    model = await memory.play(host, heard)
    assert "elicitation" not in declared(heard)
    assert replies(heard) == []
    assert memory.kept == []
    told, graph = model.results
    assert "nobody decided in time whether `create_entities` may run" in told
    assert "permission_denied" not in graph
    [refused] = await memory.gate.records(event="tool.call.refused")
    assert refused["reason"] == "approval-expired"
    [decided] = await memory.gate.records(event="approval.decided")
    assert f"approval_id: {decided['approval']['id']}" in told
