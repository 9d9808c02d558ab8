"""The control API on the socket: what a command can ask, whatever its version."""

import json
import socket
from collections.abc import Generator
from contextlib import contextmanager
from typing import BinaryIO

import pytest

from support.daemons import dial, shim, status
from support.processes import alive, wait_until_gone
from support.workspace import Json, Workspace
from switchboard.control.requests import AnyRequest, read_request
from switchboard.ipc.hello import hello_line
from switchboard.ipc.protocol import CONTROL


class Command:
    """A connection of a command."""

    def __init__(self, sock: socket.socket, file: BinaryIO) -> None:
        self._sock = sock
        self._file = file

    def ask(self, **request: object) -> Json:
        self._sock.sendall(json.dumps(request).encode() + b"\n")
        answer: Json = json.loads(self._file.readline())
        return answer


@contextmanager
def connected(workspace: Workspace) -> Generator[Command]:
    with dial(workspace) as sock, sock.makefile("rb") as file:
        sock.sendall(hello_line(CONTROL, home=str(workspace.home)))
        yield Command(sock, file)


async def test_children_are_stopped_started_and_restarted_by_name(workspace: Workspace) -> None:
    async with shim(workspace) as client:
        await client.call_subtool("echo_suite", "echo", {"text": "x"})
        first = running_child(workspace)
        with connected(workspace) as command:
            assert command.ask(do="child", action="stop", name="echo") == {"count": 1}
            wait_until_gone([first])
            assert command.ask(do="child", action="start", name="echo") == {"count": 1}
            second = running_child(workspace)
            assert alive(second)
            command.ask(do="child", action="restart", name="echo", workspace=str(workspace.root))
            wait_until_gone([second])
            # The client goes on as if nothing had happened.
            await client.call_subtool("echo_suite", "echo", {"text": "x"})
            fault = command.ask(do="child", action="stop", name="nobody")["fault"]
            assert (fault["code"], fault["reason"]) == ("not_found", "unknown-child")


def running_child(workspace: Workspace) -> int:
    found = status(workspace)
    assert found is not None
    (child,) = found["children"]
    pid: int = child["pid"]
    return pid


async def test_sessions_are_told_alone_and_boards_read_their_files_on_request(
    workspace: Workspace,
) -> None:
    async with shim(workspace) as client:
        with connected(workspace) as command:
            (session,) = command.ask(do="sessions")["sessions"]
            assert session["pid"] == client.pid
            workspace.echo_child("two")
            assert command.ask(do="reload") == {"count": 1}
            assert set(await client.tools()) == {"echo_suite", "two_suite"}


async def test_who_has_named_no_workspace_has_no_tools(workspace: Workspace) -> None:
    async with shim(workspace):
        for request in ({"do": "call", "name": "echo"}, {"do": "introspect"}, {"do": "tokens"}):
            with connected(workspace) as command:
                assert command.ask(**request)["fault"]["reason"] == "no-board"


async def test_a_word_that_is_not_known_is_refused_and_the_next_is_heard(
    workspace: Workspace,
) -> None:
    async with shim(workspace):
        with connected(workspace) as command:
            assert "error" in command.ask(do="somersault")
            assert command.ask(do="status")["pid"]


@pytest.mark.parametrize(
    "text",
    [
        b'{"do": "status"}',
        b'{"do": "events", "last": 3, "follow": true}',
        b'{"do": "drain"}',
        b'{"do": "stop"}',
        # A later version may say more.
        b'{"do": "status", "more": 1}',
    ],
)
def test_the_words_of_the_version_before_are_understood(text: bytes) -> None:
    request: AnyRequest = read_request(text)
    assert json.loads(text)["do"] == type(request).__struct_config__.tag


async def test_a_command_that_says_nothing_is_left(workspace: Workspace) -> None:
    async with shim(workspace):
        with dial(workspace) as sock:
            sock.sendall(hello_line(CONTROL, home=str(workspace.home)))
            assert sock.recv(1) == b""
