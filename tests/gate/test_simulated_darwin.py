"""Approvals end to end where Linux lacks what macOS lacks: a person answers, the client cannot."""

import asyncio
import json
import os
import shlex
import shutil
from pathlib import Path

import pytest

from gate.ground import Gate, call, fault, said
from support.processes import until_true
from support.simulation import as_darwin
from support.workspace import Workspace

# A client that answers for its user, from a session of its own below it.
ANSWERS = """
(read id <{told}; setsid {approve} "$id" --yes --json >{heard}.new 2>&1; mv {heard}.new {heard}) &
"$@"
exit $?
"""


@pytest.fixture
def mac(workspace: Workspace) -> Gate:
    workspace.env = as_darwin(workspace.env, workspace.root.parent)
    return Gate(workspace)


def told(path: Path, text: str) -> None:
    path.write_text(f"{text}\n")


async def test_a_person_approves_and_the_client_cannot(mac: Gate) -> None:
    folder = mac.workspace.root.parent
    questions, heard, program = folder / "told", folder / "heard", folder / "agent"
    os.mkfifo(questions)
    program.symlink_to(str(shutil.which("sh")))
    approve = shlex.join(mac.workspace.command("approvals", "approve"))
    script = ANSWERS.format(told=questions, heard=heard, approve=approve)
    command = [str(program), "-c", script, "agent", *mac.workspace.command("mcp")]
    async with mac.window(capabilities={}, command=command) as client:
        waiting = client.begin("tools/call", call("write", text="approved"))
        [entry] = await mac.waiting()
        await asyncio.to_thread(told, questions, entry["id"])
        await until_true(heard.exists)
        assert json.loads(heard.read_text())["reason"] == "own-approval"
        assert mac.written == []
        await mac.decide("approve")
        assert said((await client.answer_to(waiting))["result"]) == "written: approved"
        waiting = client.begin("tools/call", call("write", text="denied"))
        await mac.decide("deny")
        assert fault((await client.answer_to(waiting))["result"])["reason"] == "approval-denied"
    assert mac.written == ["approved"]
    answers = [record["approval"] for record in await mac.records() if record.get("approval")]
    found = [(each["channel"], each["decision"]) for each in answers if each["channel"] == "cli"]
    # With the processes above whoever said yes, which the double of the kernel has told.
    assert ("cli", "approved") in found
    assert any(each.get("chain") for each in answers if each["channel"] == "cli")
