"""A session outlives the daemon that serves it: only what was open fails, and with words."""

import asyncio
import fcntl
import json
import os
import random
import signal
import sys
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from cli.commands import switchboard
from support.daemons import another_version, daemon_pid, shim, status, under_way
from support.mcp_stdio import Json, StdioClient, talking_to, text_of, unread_of
from support.processes import alive, until_gone, until_true
from support.workspace import Workspace, child_command
from switchboard.core.faults import Fault

STALL = {"name": "echo_suite", "arguments": {"action": "call", "subtool": "stall"}}
ENDED = "ended while this call was open"
NOT_RUN = "ended while the user was asked about this call; it has not run"


@asynccontextmanager
async def modern(workspace: Workspace) -> AsyncGenerator[StdioClient]:
    """A client of the era without handshake."""
    async with talking_to(
        workspace.command("mcp"), cwd=workspace.root, env=workspace.env, patience=30
    ) as client:
        await client.discover()
        yield client


async def echoed(client: StdioClient, text: str) -> str:
    return text_of(await client.call_subtool("echo_suite", "echo", {"text": text}))


async def stalled(workspace: Workspace, client: StdioClient) -> int:
    """Begin a call that never ends, and wait until a child has it."""
    number = client.begin("tools/call", STALL)
    await until_true(lambda: under_way(workspace) > 0)
    return number


def kill(workspace: Workspace) -> int:
    pid = daemon_pid(workspace)
    os.kill(pid, signal.SIGKILL)
    return pid


def block_log(workspace: Workspace) -> None:
    """A folder where the log should be: no daemon can start."""
    log = Path(workspace.daemon_places.log)
    log.unlink()
    log.mkdir()


def answers(client: StdioClient) -> Counter[Any]:
    """How often each id was answered."""
    return Counter(each["id"] for each in client.messages if "method" not in each)


@pytest.mark.parametrize("era", [shim, modern])
async def test_only_the_calls_that_were_open_fail(workspace: Workspace, era: Any) -> None:
    async with era(workspace) as client:
        assert "echo: before" in await echoed(client, "before")
        number = await stalled(workspace, client)
        before = kill(workspace)
        answer = await client.answer_to(number, patience=10)
        assert ENDED in answer["error"]["message"]
        assert answer["error"]["data"]["reason"] == "daemon-ended"
        # The same process, the same streams, no new handshake.
        assert "echo: after" in await echoed(client, "after")
        assert set(await client.tools()) == {"echo_suite"}
        assert daemon_pid(workspace) != before
        assert [client.pid] == [each["pid"] for each in (status(workspace) or {})["sessions"]]
        assert set(answers(client).values()) == {1}
        assert client.junk == []
        assert await client.close() == 0


async def test_a_client_of_the_handshake_is_told_that_listings_may_have_changed(
    workspace: Workspace,
) -> None:
    async with shim(workspace) as client:
        kill(workspace)
        for kind in ("tools", "prompts", "resources"):
            await client.message(f"notifications/{kind}/list_changed", patience=20)
        (session,) = (status(workspace) or {})["sessions"]
        assert "switchboard-tests" in json.dumps(session)


async def test_what_is_followed_is_followed_by_the_next_daemon(workspace: Workspace) -> None:
    async with modern(workspace) as client:
        number = client.begin("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        await client.message("notifications/subscriptions/acknowledged")
        kill(workspace)
        told = await client.message("notifications/tools/list_changed", patience=20)
        assert number in told["params"]["_meta"].values()
        workspace.echo_child("second")
        await client.message("notifications/tools/list_changed", patience=20)
        assert set(await client.tools()) == {"echo_suite", "second_suite"}
        assert answers(client)[number] == 0
        # It can still be taken back.
        await client.notify("notifications/cancelled", {"requestId": number})
        assert "echo: on" in await echoed(client, "on")


async def test_what_is_sent_while_there_is_no_daemon_is_answered_by_the_next(
    workspace: Workspace,
) -> None:
    async with shim(workspace) as client:
        await echoed(client, "warm")
        kill(workspace)
        texts = [f"number {each}" for each in range(20)]
        found = await asyncio.gather(*(echoed(client, each) for each in texts))
        # Some may have been read by the one that was killed; none is lost.
        assert all(f"echo: {text}" in each for text, each in zip(texts, found, strict=True))


async def test_several_daemons_may_end_one_after_the_other(workspace: Workspace) -> None:
    async with shim(workspace) as client:
        for number in range(4):
            assert f"echo: {number}" in await echoed(client, str(number))
            await until_gone([kill(workspace)])
        assert "echo: last" in await echoed(client, "last")


async def test_a_daemon_that_ends_again_and_again_is_given_up(workspace: Workspace) -> None:
    async with shim(workspace) as client:
        for _ in range(6):
            assert set(await client.tools()) == {"echo_suite"}
            await until_gone([kill(workspace)])
        assert await client.ended() == 1
        assert "ended 6 times within 60 s" in client.stderr
        assert "switchboard daemon logs" in client.stderr


@pytest.mark.parametrize("how", ["leaves", "dies"])
async def test_a_client_that_leaves_meanwhile_leaves_nothing(
    workspace: Workspace, how: str
) -> None:
    async with shim(workspace) as client:
        kill(workspace)
        if how == "leaves":
            assert await client.close() == 0
        else:
            client.process.kill()
            await client.process.wait()

    def is_left() -> bool:
        try:
            return not (status(workspace) or {"sessions": []})["sessions"]
        except Fault:
            # The killed one was still there to be asked, and is not there to answer.
            return False

    await until_true(is_left)


async def test_where_no_daemon_can_start_the_shim_goes_on_itself(workspace: Workspace) -> None:
    async with shim(workspace) as client:
        number = await stalled(workspace, client)
        block_log(workspace)
        kill(workspace)
        assert ENDED in (await client.answer_to(number, patience=10))["error"]["message"]
        assert "echo: itself" in await echoed(client, "itself")
        assert "serving in this process instead" in client.stderr
        assert set(answers(client).values()) == {1}
        assert status(workspace) is None
        assert await client.close() == 0


async def test_half_a_message_is_kept_for_the_next_daemon(workspace: Workspace) -> None:
    async with shim(workspace) as client:
        await echoed(client, "warm")
        text = "x" * 500_000
        arguments: Json = {"action": "call", "subtool": "echo", "args": {"text": text}}
        params = {"name": "echo_suite", "arguments": arguments}
        message = json.dumps(
            {"jsonrpc": "2.0", "id": "half", "method": "tools/call", "params": params}
        )
        client.send_bytes(message[:300_000].encode())
        await client.drained()
        await until_true(lambda: client.unread == 0)
        kill(workspace)
        await client.message("notifications/tools/list_changed", patience=20)
        client.send_bytes(message[300_000:].encode() + b"\n")
        while True:
            found = [each for each in client.messages if each.get("id") == "half"]
            if found:
                break
            await asyncio.sleep(0.05)
        assert text in text_of(found[0]["result"])


async def test_half_an_answer_is_ended_by_the_shim(workspace: Workspace) -> None:
    """The client has not read it yet, and the pipe does not hold all of it."""
    reading, writing = os.pipe()
    process = await asyncio.create_subprocess_exec(
        *workspace.command("mcp"),
        stdin=asyncio.subprocess.PIPE,
        stdout=writing,
        cwd=workspace.root,
        env=workspace.env,
    )
    os.close(writing)
    assert process.stdin is not None
    lines = open(reading, encoding="utf-8")  # noqa: ASYNC230, PTH123, SIM115
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x"}}
    stdin = process.stdin

    def say(**message: Any) -> None:
        stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    say(id=1, method="initialize", params=hello)
    assert json.loads(await asyncio.to_thread(lines.readline))["id"] == 1
    text = "y" * 3_000_000
    arguments: Json = {"action": "call", "subtool": "echo", "args": {"text": text}}
    say(id=2, method="tools/call", params={"name": "echo_suite", "arguments": arguments})
    say(id=3, method="tools/call", params=STALL)
    await until_true(lambda: under_way(workspace) == 1)
    # A part of the long answer: as much as the pipe holds.
    most = fcntl.fcntl(reading, fcntl.F_GETPIPE_SZ)
    await until_true(lambda: unread_of(reading) > most // 2)
    kill(workspace)
    found = [json.loads(await asyncio.to_thread(lines.readline)) for _ in range(2)]
    assert [each["id"] for each in found] == [2, 3]
    assert text in found[0]["result"]["content"][0]["text"]
    assert ENDED in found[1]["error"]["message"]
    stdin.close()
    assert await process.wait() == 0
    lines.close()


async def test_a_question_of_the_daemon_that_ended_is_taken_back(workspace: Workspace) -> None:
    """And its answer, should it come, answers no question of the next one."""
    workspace.config_toml("enable_mcp_server_surface = true\n", scope="home")
    async with talking_to(
        workspace.command("mcp"), cwd=workspace.root, env=workspace.env, patience=30
    ) as client:
        await client.initialize(capabilities={"elicitation": {"form": {}}})
        number = client.begin("tools/call", STALL)
        asked = await client.message("elicitation/create")
        kill(workspace)
        assert NOT_RUN in (await client.answer_to(number))["error"]["message"]
        taken_back = await client.message("notifications/cancelled")
        assert taken_back["params"]["requestId"] == asked["id"]
        client.begin("tools/call", STALL)
        again = await client.message("elicitation/create")
        assert again["id"] != asked["id"]


@pytest.mark.parametrize("framing", ["newline", "content-length"])
async def test_the_framing_of_a_client_stays(workspace: Workspace, framing: Any) -> None:
    async with talking_to(
        workspace.command("mcp"), cwd=workspace.root, env=workspace.env, framing=framing
    ) as client:
        await client.initialize()
        number = await stalled(workspace, client)
        kill(workspace)
        assert ENDED in (await client.answer_to(number))["error"]["message"]
        assert "echo: framed" in await echoed(client, "framed")
        assert set(client.framings) == {framing}


async def test_a_call_that_is_open_for_long_fails_too(workspace: Workspace) -> None:
    """Meanwhile the ledger was begun anew several times, and once it had to grow."""
    async with shim(workspace) as client:
        number = await stalled(workspace, client)
        for _ in range(6):
            await asyncio.gather(*(echoed(client, "k" * 1_000) for _ in range(100)))
        await echoed(client, "m" * 2_000_000)
        await asyncio.gather(*(echoed(client, "k" * 1_000) for _ in range(300)))
        kill(workspace)
        assert ENDED in (await client.answer_to(number, patience=10))["error"]["message"]
        assert "echo: after" in await echoed(client, "after")
        assert set(answers(client).values()) == {1}
        assert client.junk == []


async def test_a_client_that_reads_late_gets_every_answer(workspace: Workspace) -> None:
    """It writes all its requests first: what it has not read is a part of the ledger."""
    async with shim(workspace) as client:
        await echoed(client, "warm")
        texts = [f"{each} " + "l" * 3_000 for each in range(1_000)]
        found = await asyncio.gather(*(echoed(client, text) for text in texts))
        assert all(f"echo: {text}" in each for text, each in zip(texts, found, strict=True))


# Restarts and upgrades


@pytest.mark.parametrize("era", [shim, modern])
async def test_a_restart_cuts_nobody_off(workspace: Workspace, era: Any) -> None:
    workspace.child("slow", child_command("slow_child"))
    async with era(workspace) as idle, era(workspace) as busy:
        await echoed(idle, "before")
        number = busy.begin(
            "tools/call",
            {
                "name": "slow_suite",
                "arguments": {"action": "call", "subtool": "wait", "args": {"seconds": 8}},
            },
        )
        await until_true(lambda: under_way(workspace) > 0)
        before = daemon_pid(workspace)
        done = await asyncio.to_thread(switchboard, workspace, "daemon", "restart", "--json")
        assert (done.report["state"], done.report["finishing"]) == ("started", before)
        assert done.report["pid"] == daemon_pid(workspace) != before
        assert "echo: after" in await echoed(idle, "after")
        # What was open comes to its end, and then that client moves too.
        assert "result" in await busy.answer_to(number, patience=20)
        await until_gone([before])
        assert "echo: moved" in await echoed(busy, "moved")
        assert idle.stderr == busy.stderr == ""


async def test_a_signal_to_the_daemon_is_not_for_its_clients(workspace: Workspace) -> None:
    async with shim(workspace) as client:
        number = await stalled(workspace, client)
        pid = daemon_pid(workspace)
        os.kill(pid, signal.SIGTERM)
        assert ENDED in (await client.answer_to(number, patience=10))["error"]["message"]
        assert "echo: on" in await echoed(client, "on")
        await until_gone([pid])


async def test_a_session_goes_on_with_a_daemon_of_a_newer_version(
    workspace: Workspace, tmp_path: Path
) -> None:
    """The program was replaced while it ran: what it becomes is what is installed now."""
    installed = tmp_path / "installed"
    older = another_version(installed)
    (installed / "switchboard" / "__init__.py").write_text('__version__ = "8.8.8"\n', "utf-8")
    command = [sys.executable, "-m", "switchboard", "mcp"]
    env = {**workspace.env, **older}
    async with talking_to(command, cwd=workspace.root, env=env, patience=30) as client:
        await client.initialize()
        assert "echo: old" in await echoed(client, "old")
        # Another size: Python tells sources apart by that and by the second, and keeps byte code.
        (installed / "switchboard" / "__init__.py").write_text('__version__ = "9.9.10"\n', "utf-8")
        async with talking_to(command, cwd=workspace.root, env=env) as newer:
            await newer.initialize()
            found = (await asyncio.to_thread(switchboard, workspace, "status", "--json")).report
            (old,) = (each["pid"] for each in found["draining"])
            assert found["daemon"]["version"] == "9.9.10"
            os.kill(old, signal.SIGKILL)
            assert "echo: new" in await echoed(client, "new")
            assert daemon_pid(workspace) == found["daemon"]["pid"]
            assert alive(client.pid)
            assert set(answers(client).values()) == {1}


# Random moments


# More ends than these within a minute are too many for one session.
ROUNDS = 5


@pytest.mark.parametrize(
    "sessions", [1, pytest.param(10, marks=[pytest.mark.soak, pytest.mark.timeout(900)])]
)
async def test_kills_at_random_moments_answer_every_call_once(
    workspace: Workspace, sessions: int
) -> None:
    for _ in range(sessions):
        seed = random.randrange(1 << 30)
        async with shim(workspace, patience=60) as client:
            await echoed(client, "warm")
            found = await killed_at_random(workspace, client, random.Random(seed))
            assert all("result" in each or ENDED in each["error"]["message"] for each in found), (
                f"seed {seed}"
            )
            # At least one of them has an answer of the daemon that came after the kill.
            assert any("result" in each for each in found)
            assert set(answers(client).values()) == {1}, f"seed {seed}"
            assert client.junk == [], f"seed {seed}"
            assert "echo: last" in await echoed(client, "last")


async def killed_at_random(
    workspace: Workspace, client: StdioClient, chance: random.Random
) -> list[Json]:
    """Every answer to the calls under which daemons were killed."""
    found: list[Json] = []
    for number in range(ROUNDS):
        killed = asyncio.Event()
        pid = daemon_pid(workspace)
        loading = asyncio.create_task(load(client, f"{number}", chance, killed))
        await asyncio.sleep(chance.uniform(0.0, 0.6))
        os.kill(pid, signal.SIGKILL)
        killed.set()
        found += await loading
    return found


async def load(
    client: StdioClient, name: str, chance: random.Random, killed: asyncio.Event
) -> list[Json]:
    """Two hundred calls in flight, and more as they end; the last ones once a daemon was killed."""
    found: list[Json] = []

    async def one(each: int) -> None:
        is_last = False
        while not is_last:
            is_last = killed.is_set()
            text = f"{name} {each} " + "z" * chance.choice((0, 50, 5_000))
            arguments = {"action": "call", "subtool": "echo", "args": {"text": text}}
            params = {"name": "echo_suite", "arguments": arguments}
            answer = await client.answer_to(client.begin("tools/call", params))
            if "result" in answer:
                assert f"echo: {text}" in text_of(answer["result"])
            found.append(answer)

    await asyncio.gather(*(one(each) for each in range(200)))
    return found
