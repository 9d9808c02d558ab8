"""What the daemon takes for a socket to listen on, and what it says of anything else."""

import asyncio
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.commands import switchboard
from support.daemons import daemon_pid, open_files, shim
from support.processes import until_true
from support.workspace import Workspace
from switchboard.control.board_client import BoardClient
from switchboard.control.requests import ListenRequest
from switchboard.core.faults import Fault
from switchboard.shim.main import introduce

ATTEMPTS = 12
LISTEN = ListenRequest(host="127.0.0.1", token="token")


def listening_tcp() -> int:
    return socket.create_server(("127.0.0.1", 0)).detach()


def idle_tcp() -> int:
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM).detach()


def udp() -> int:
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM).detach()


def unix() -> int:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind("")
        sock.listen()
        return sock.detach()


def no_socket() -> int:
    return os.open(os.devnull, os.O_RDONLY)


def attached(workspace: Workspace) -> BoardClient:
    flags = {"workspace": str(workspace.root), "config": ""}
    return BoardClient(introduce(workspace.daemon_places, flags, workspace.env))


@pytest.mark.parametrize(
    ("opened", "request_", "reason"),
    [
        (idle_tcp, LISTEN, "listen-refused"),
        (udp, LISTEN, "listen-refused"),
        (unix, LISTEN, "listen-refused"),
        (no_socket, LISTEN, "listen-refused"),
        (listening_tcp, ListenRequest(host="127.0.0.1", token=""), "token-unusable"),
    ],
)
async def test_a_listener_that_is_none_is_refused(
    workspace: Workspace, opened: Callable[[], int], request_: ListenRequest, reason: str
) -> None:
    async with shim(workspace):
        pid = daemon_pid(workspace)
        files = open_files(pid)
        for _ in range(ATTEMPTS):
            client = await asyncio.to_thread(attached, workspace)
            number = opened()
            try:
                with pytest.raises(Fault) as raised:
                    await asyncio.to_thread(client.listen, number, request_)
            finally:
                os.close(number)
                client.close()
            assert raised.value.reason == reason
        # Others come and go; what is never closed would stay, one for each.
        await until_true(lambda: open_files(pid) < files + ATTEMPTS)


def test_a_fault_of_the_daemon_reaches_the_terminal(workspace: Workspace) -> None:
    token = Path(workspace.home, "control-token")
    token.write_text("no token\n", "utf-8")
    token.chmod(0o600)
    done = switchboard(workspace, "serve", "--http", "--port", "0", "--json")
    assert (done.code, done.report["reason"]) == (1, "token-unusable")
    assert "control-token" in done.report["message"]
    assert done.report["hint"]
