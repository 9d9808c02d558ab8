"""Each bad child gives one clear error through the whole of Switchboard, and disturbs nobody."""

import asyncio
from pathlib import Path
from typing import NamedTuple

import pytest

from support.mcp_stdio import Json, StdioClient, text_of
from support.requirements import requirement
from support.workspace import Workspace, child_command
from surface.hosts import hosting


class Bad(NamedTuple):
    """A child, what is asked of it, and the error that has to come of it."""

    command: list[str]
    arguments: Json
    code: str
    reason: str

    @property
    def limit_ms(self) -> int:
        """Short only where running out of time is the error; a busy machine causes no other."""
        return 1_500 if self.code == "deadline_exceeded" else 60_000


def habit(name: str, *args: str) -> list[str]:
    return child_command("misbehaving_child", name, *args)


def calling(subtool: str, **args: object) -> Json:
    return {"action": "call", "subtool": subtool, "args": args}


LOOK: Json = {"action": "introspect"}
BAD = {
    "missing command": Bad(["/no/such/program"], LOOK, "internal", "spawn-failed"),
    "not executable": Bad(["/etc/hostname"], LOOK, "internal", "spawn-failed"),
    "ends at once": Bad(habit("exit-at-once", "3"), LOOK, "unavailable", "child-exited"),
    "prints garbage only": Bad(
        ["sh", "-c", "echo '<html>'; echo '}{'; exec sleep 600"],
        LOOK,
        "deadline_exceeded",
        "child-start-timeout",
    ),
    "hangs": Bad(habit("hang-at-start"), LOOK, "deadline_exceeded", "child-start-timeout"),
    "hangs in a call": Bad(
        habit("hang-on-tool"), calling("hang"), "deadline_exceeded", "tool-timeout"
    ),
    "answers with a wrong id": Bad(
        habit("wrong-id"), calling("echo", text="x"), "internal", "result-malformed"
    ),
    "sends 60 MB on one line": Bad(
        habit("huge-line"), calling("huge", megabytes=60), "resource_exhausted", "message-too-large"
    ),
    "dies in a call": Bad(habit("dies-on-tool"), calling("die"), "unavailable", "child-exited"),
    "refuses": Bad(habit("paged"), calling("refuse"), "unimplemented", "child-lacks-tools"),
}


async def echoes(client: StdioClient, text: str) -> bool:
    return text in text_of(await client.call_subtool("healthy_suite", "echo", {"text": text}))


@requirement("S2.59", "S2.63", "S2.79", "S2.80", "S2.81", "S2.84", "S2.88")
@pytest.mark.parametrize("name", BAD)
async def test_a_bad_child_is_one_clear_error_while_a_healthy_one_answers(
    name: str, tmp_path: Path
) -> None:
    bad = BAD[name]
    workspace = Workspace(tmp_path)
    workspace.echo_child("healthy")
    workspace.child("bad", bad.command, rpcTimeoutMs=bad.limit_ms)
    async with hosting(workspace) as client:
        assert await echoes(client, "before")
        waiting = asyncio.ensure_future(client.call("bad_suite", bad.arguments))
        assert await echoes(client, "meanwhile")
        result = await waiting
        assert result["isError"]
        error = result["_meta"]["switchboard/error"]
        assert (error["code"], error["reason"]) == (bad.code, bad.reason)
        text = text_of(result)
        assert text.startswith(f"{bad.code}: ")
        assert "Traceback" not in text
        assert str(workspace.root) not in text
        assert await echoes(client, "after")
        assert set(await client.tools()) == {"bad_suite", "healthy_suite"}
        assert await client.close() == 0
        assert client.junk == []
        # The last words of a child may hold a traceback of its own; ours may not.
        ours = [line for line in client.stderr.splitlines() if "ChildExited" not in line]
        assert "Traceback" not in "".join(ours)
