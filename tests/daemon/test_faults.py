"""Whoever comes to the daemon's socket, and however the daemon fares, nobody waits for ever."""

import asyncio
import os
import signal
import socket
import threading
import time

import pytest

from support.daemons import daemon_pid, dial, open_files, shim, status
from support.mcp_stdio import talking_to
from support.measuring import unmeasured
from support.processes import until_gone, until_true
from support.workspace import Workspace
from switchboard.ipc.protocol import GREETING_S, SECOND_SILENCE_S, SILENCE_S

MEGABYTE = b"x" * (1 << 20)


def resident(pid: int) -> int:
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:  # noqa: PTH123
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def pour(stranger: socket.socket, size: int) -> int:
    """Send so much without a line's end; give how much was taken before the other side left."""
    sent = 0
    try:
        while sent < size:
            stranger.sendall(MEGABYTE)
            sent += len(MEGABYTE)
    except OSError:
        return sent
    return sent


async def test_a_hello_of_a_gigabyte_is_cut_off(workspace: Workspace) -> None:
    async with shim(workspace) as client:
        pid = daemon_pid(workspace)
        before = resident(pid)
        with dial(workspace) as stranger:
            assert await asyncio.to_thread(pour, stranger, 1 << 30) < 8 << 20
        assert resident(pid) < before + (8 << 20)
        assert set(await client.tools()) == {"echo_suite"}


@pytest.mark.parametrize(
    "words",
    [b"", b"hello\n", b"{}\n", b"[" * 60_000 + b"\n", b'{"magic":"switchboard"}\n', b"\0\n"],
)
async def test_a_stranger_is_left_in_bounded_time(workspace: Workspace, words: bytes) -> None:
    async with shim(workspace) as client:
        files = open_files(daemon_pid(workspace))
        with dial(workspace) as stranger:
            stranger.sendall(words)
            began = time.monotonic()
            assert await asyncio.to_thread(stranger.recv, 1) == b""
            assert time.monotonic() - began < GREETING_S + 2
        assert set(await client.tools()) == {"echo_suite"}
        await until_true(lambda: open_files(daemon_pid(workspace)) <= files)


async def test_two_hundred_clients_at_once_are_served(workspace: Workspace) -> None:
    async with shim(workspace) as first:
        await first.call_subtool("echo_suite", "echo", {"text": "warm"})
        pid = daemon_pid(workspace)
        files = open_files(pid)
        # Measuring two hundred processes would cost more than running them.
        lean = unmeasured(workspace.env)
        workspace.env.clear()
        workspace.env.update(lean)

        async def served(number: int) -> None:
            async with shim(workspace, patience=60) as client:
                text = f"number {number}"
                result = await client.call_subtool("echo_suite", "echo", {"text": text})
                assert f"echo: {text}" in result["content"][0]["text"]
                assert client.stderr == ""
                assert await client.close(patience=60) == 0

        await asyncio.gather(*(served(number) for number in range(200)))
        assert daemon_pid(workspace) == pid
        await until_true(lambda: open_files(pid) <= files)
        found = status(workspace)
        assert found is not None
        assert len(found["sessions"]) == 1
        # One child for all of them.
        assert [(child["name"], child["calls"]) for child in found["children"]] == [("echo", 201)]


async def test_silent_connections_do_not_keep_others_out(workspace: Workspace) -> None:
    async with shim(workspace):
        crowd = [dial(workspace) for _ in range(100)]
        async with shim(workspace) as client:
            assert set(await client.tools()) == {"echo_suite"}
        for stranger in crowd:
            stranger.close()


async def test_a_daemon_that_is_busy_is_waited_for(workspace: Workspace) -> None:
    async with shim(workspace):
        pid = daemon_pid(workspace)
        halted = threading.Event()

        def halt() -> None:
            """Let it run for a moment in each second, as on a machine with too much to do."""
            ends = time.monotonic() + 2 * GREETING_S
            while time.monotonic() < ends:
                os.kill(pid, signal.SIGSTOP)
                halted.set()
                time.sleep(0.95)
                os.kill(pid, signal.SIGCONT)
                time.sleep(0.05)

        halting = asyncio.create_task(asyncio.to_thread(halt))
        await asyncio.to_thread(halted.wait)
        async with shim(workspace, patience=60) as client:
            assert client.stderr == ""
            await halting
            assert set(await client.tools()) == {"echo_suite"}
        assert daemon_pid(workspace) == pid


async def test_a_frozen_daemon_is_done_without(workspace: Workspace) -> None:
    async with shim(workspace):
        pid = daemon_pid(workspace)
        os.kill(pid, signal.SIGSTOP)
        try:
            began = time.monotonic()
            async with shim(workspace) as client:
                assert set(await client.tools()) == {"echo_suite"}
                assert time.monotonic() - began < GREETING_S + 10
                assert "does not answer" in client.stderr
                assert "in this process instead" in client.stderr
                # When it wakes up it must not read what is not its own.
                os.kill(pid, signal.SIGCONT)
                for _ in range(20):
                    assert set(await client.tools()) == {"echo_suite"}
                assert await client.close() == 0
        finally:
            os.kill(pid, signal.SIGCONT)
        await until_true(lambda: len((status(workspace) or {})["sessions"]) == 1)


@pytest.mark.timeout(60)
async def test_a_daemon_that_freezes_is_replaced_in_bounded_time(workspace: Workspace) -> None:
    async with shim(workspace) as client:
        await client.call_subtool("echo_suite", "echo", {"text": "warm"})
        pid = daemon_pid(workspace)
        children = [child["pid"] for child in (status(workspace) or {})["children"]]
        os.kill(pid, signal.SIGSTOP)
        patience = SILENCE_S + SECOND_SILENCE_S + 15
        # Nobody has read it, so it waits for the next one.
        listed = await client.answer_to(client.begin("tools/list"), patience=patience)
        assert [each["name"] for each in listed["result"]["tools"]] == ["echo_suite"]
        assert "was silent" in client.stderr
        await until_gone([pid, *children])
    async with shim(workspace) as client:
        assert client.stderr == ""


async def test_a_frozen_daemon_can_be_stopped(workspace: Workspace) -> None:
    async with shim(workspace):
        pid = daemon_pid(workspace)
        os.kill(pid, signal.SIGSTOP)
        stop = await asyncio.create_subprocess_exec(
            *workspace.command("daemon", "stop"), env=workspace.env, cwd=workspace.root
        )
        assert await asyncio.wait_for(stop.wait(), 60) == 0
        assert status(workspace) is None


async def test_files_without_a_client_are_closed(workspace: Workspace) -> None:
    """Whoever sends open files with its hello does not make the daemon keep them."""
    async with shim(workspace):
        pid = daemon_pid(workspace)
        files = open_files(pid)
        with dial(workspace) as stranger:
            reading, writing = os.pipe()
            socket.send_fds(stranger, [b"hello\n"], [reading, writing])
            assert await asyncio.to_thread(stranger.recv, 1) == b""
            os.close(reading)
            os.close(writing)
        await until_true(lambda: open_files(pid) <= files)


async def test_a_shim_whose_client_closes_its_output_ends(workspace: Workspace) -> None:
    async with talking_to(
        workspace.command("mcp"), cwd=workspace.root, env=workspace.env
    ) as client:
        assert await client.close() == 0
