"""A daemon that may have few files open keeps some for those it serves, and declines the rest."""

import asyncio
import contextlib
import os
import resource
import socket
from collections.abc import Generator
from contextlib import contextmanager

from daemon.test_lasting import seconds_of_work
from support.daemons import daemon_pid, dial, log_text, open_files, shim, status
from support.mcp_stdio import StdioClient, talking_to
from support.processes import until_true
from support.requirements import attack
from support.workspace import Workspace
from switchboard.ipc.hello import hello_line
from switchboard.ipc.protocol import CLIENT, STREAMS

FEW = 128
CLIENTS = 25
DECLINED = (
    "warning: the daemon does not serve this client: it has too many files open"
    " (at most 128, `ulimit -n`); serving in this process instead\n"
)


@attack("F1")
async def test_twenty_five_clients_of_a_daemon_with_few_files_are_all_served(
    workspace: Workspace,
) -> None:
    few = ["sh", "-c", f'ulimit -n {FEW}; exec "$@"', "sh", *workspace.command("mcp")]
    async with contextlib.AsyncExitStack() as all_of_them:

        async def a_client(command: list[str]) -> StdioClient:
            client = await all_of_them.enter_async_context(
                talking_to(command, cwd=workspace.root, env=workspace.env, patience=60)
            )
            await client.initialize()
            return client

        first = await a_client(few)
        pid = daemon_pid(workspace)
        assert resource.prlimit(pid, resource.RLIMIT_NOFILE) == (FEW, FEW)
        rest = await asyncio.gather(
            *(a_client(workspace.command("mcp")) for _ in range(CLIENTS - 1))
        )
        clients = [first, *rest]
        said = await asyncio.gather(
            *(each.call_subtool("echo_suite", "echo", {"text": "hi"}) for each in clients)
        )
        assert len(said) == CLIENTS
        found = status(workspace)
        assert found is not None
        assert found["pid"] == pid
        connected = {session["pid"] for session in found["sessions"]}
        declined = [each for each in clients if each.stderr]
        assert all(each.stderr.startswith(DECLINED) for each in declined)
        assert len(connected) + len(declined) == CLIENTS
        # Some are served, and nobody is dropped to keep files that are not needed.
        assert 8 <= len(connected) < CLIENTS
        # What is kept is enough to start another server for one that is connected.
        assert open_files(pid) <= FEW - 8


@contextmanager
def no_more_files(pid: int) -> Generator[None]:
    """Let a process open nothing."""
    limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (open_files(pid), limits[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)


async def test_a_daemon_that_can_open_nothing_answers_commands_and_declines_clients(
    workspace: Workspace,
) -> None:
    async with shim(workspace) as client:
        pid = daemon_pid(workspace)
        await client.call_subtool("echo_suite", "echo", {"text": "before"})
        with no_more_files(pid):
            before = seconds_of_work(pid)
            for _ in range(5):
                found = status(workspace)
                assert found is not None
                assert [session["pid"] for session in found["sessions"]] == [client.pid]
            async with shim(workspace) as late:
                assert "does not serve this client: it has too many files open" in late.stderr
                assert await late.call_subtool("echo_suite", "echo", {"text": "late"})
            assert await client.call_subtool("echo_suite", "echo", {"text": "meanwhile"})
            assert seconds_of_work(pid) - before < 1
        async with shim(workspace) as later:
            assert later.stderr == ""
        assert daemon_pid(workspace) == pid
        assert "have to wait" not in log_text(workspace)


def a_ready_client(workspace: Workspace) -> socket.socket:
    """Introduce oneself as a shim does, up to the moment of the handing over."""
    stranger = dial(workspace)
    home, root = str(workspace.home), str(workspace.root)
    stranger.sendall(hello_line(CLIENT, home=home, cwd=root, environ=workspace.env))
    said = stranger.makefile(encoding="utf-8")
    while (line := said.readline()) != "ready\n":
        assert line.startswith("need "), line
        stranger.sendall(b"{}\n")
    return stranger


async def test_streams_that_are_lost_on_the_way_are_told_of(workspace: Workspace) -> None:
    async with shim(workspace):
        pid = daemon_pid(workspace)
        stranger = await asyncio.to_thread(a_ready_client, workspace)
        reading, writing = os.pipe()
        try:
            limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, limits[1]))
            try:
                socket.send_fds(stranger, [STREAMS], [reading, writing])
                said = await asyncio.to_thread(stranger.makefile(encoding="utf-8").readline)
            finally:
                resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
            assert said.startswith("declined it has too many files open")
        finally:
            os.close(reading)
            os.close(writing)
            stranger.close()


async def test_room_that_was_held_for_clients_who_left_is_given_back(workspace: Workspace) -> None:
    async with shim(workspace):
        pid = daemon_pid(workspace)
        before = open_files(pid)
        strangers = [await asyncio.to_thread(a_ready_client, workspace) for _ in range(5)]
        assert open_files(pid) >= before + 5 * 3
        for stranger in strangers:
            stranger.close()
        await until_true(lambda: open_files(pid) <= before)
