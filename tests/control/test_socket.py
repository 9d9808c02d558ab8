"""The control API in this process: slow answers, failures, and callers that leave half-way."""

import asyncio
import os
import socket
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import httpx2
import pytest

from switchboard.control import client as client_module
from switchboard.control import connection as connection_module
from switchboard.control import socket as socket_module
from switchboard.control.api import Control
from switchboard.control.client import DaemonClient
from switchboard.control.connection import SocketConnection
from switchboard.control.requests import AnyRequest, ChildRequest, StatusRequest
from switchboard.control.socket import serve_requests
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.loop.tasks import TaskSet
from switchboard.daemon.control import DaemonControl
from switchboard.daemon.state import DaemonState
from switchboard.ipc.lines import Line
from switchboard.surface.http.access import Access
from switchboard.surface.http.exchange import Exchange
from switchboard.surface.http.routes import ControlRoutes
from switchkit.platform.light import RECEIVE_CLOSED

SILENCE_S = 0.3


class Answering:
    """A control that answers after a while."""

    def __init__(self, after_s: float) -> None:
        self._after_s = after_s

    async def answer(self, request: AnyRequest, **more: object) -> bytes:
        del request, more
        await asyncio.sleep(self._after_s)
        return b'{"pid":1}\n'

    def events(self, last: int) -> Iterator[str]:
        del last
        return iter(())

    def follow(self, follower: Callable[[str], None]) -> Callable[[], None]:
        del follower
        return lambda: None

    def over_http(self) -> Control:
        return self


@pytest.mark.parametrize("flag", [RECEIVE_CLOSED, 0])
async def test_files_that_came_stay_in_this_program(
    monkeypatch: pytest.MonkeyPatch, flag: int
) -> None:
    """Where the kernel has no flag for it, as on macOS, and where Python does not pass it on."""
    monkeypatch.setattr(connection_module, "RECEIVE_CLOSED", flag)
    ours, theirs = socket.socketpair()
    connection = SocketConnection(ours, 1)
    try:
        socket.send_fds(theirs, [b"here\n"], [theirs.fileno()])
        assert await connection.line(100, 10.0) == b"here"
        [came] = connection.take_files()
        assert not os.get_inheritable(came)
        os.close(came)
    finally:
        connection.close()
        theirs.close()


@asynccontextmanager
async def asking(control: Control) -> AsyncGenerator[DaemonClient]:
    """A client of a control."""
    ours, theirs = socket.socketpair()
    connection = SocketConnection(ours, 1)
    client = DaemonClient(Line(theirs, 1))
    async with TaskSet() as tasks:
        tasks.start(serve_requests(control, connection))
        yield client
        client.close()
    connection.close()


def broken() -> DaemonControl:
    """The control of a daemon that has lost its mind."""
    return DaemonControl(cast("DaemonState", None), 1)


async def test_a_slow_daemon_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "GREETING_S", SILENCE_S)
    monkeypatch.setattr(socket_module, "WORKING_S", SILENCE_S / 6)
    async with asking(Answering(after_s=5 * SILENCE_S)) as client:
        assert await asyncio.to_thread(client.ask, StatusRequest()) == {"pid": 1}


async def test_a_daemon_that_says_nothing_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "GREETING_S", SILENCE_S)
    async with asking(Answering(after_s=20)) as client:
        with pytest.raises(Fault, match=r"does not answer within 0\.6 s"):
            await asyncio.to_thread(client.ask, StatusRequest())


async def test_an_unforeseen_failure_is_told_and_the_connection_lives_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with asking(broken()) as client:
        for _ in range(2):
            with pytest.raises(Fault) as raised:
                await asyncio.to_thread(client.ask, StatusRequest())
            fault = raised.value
            assert (fault.code, fault.reason) == (FaultCode.INTERNAL, "unexpected")
            assert fault.hint == "switchboard daemon logs"
    assert "AttributeError" in capsys.readouterr().err


async def test_an_unforeseen_failure_is_told_over_http() -> None:
    routes = ControlRoutes(broken(), Access(token="t", hosts=frozenset({"here:80"})))

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await routes.serve(Exchange(scope, receive, send))

    headers = {"authorization": "Bearer t", "host": "here:80"}
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, headers=headers, timeout=60) as http:
        told = await http.post("http://here:80/control/status", json={})
    assert told.status_code == 500
    assert told.json()["fault"]["hint"] == "switchboard daemon logs"


async def test_a_caller_that_leaves_half_way_does_not_leave_half_a_restart() -> None:
    stopping, may_stop, started = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def stop(_why: str) -> None:
        stopping.set()
        await may_stop.wait()

    async def start() -> None:
        started.set()

    connection = SimpleNamespace(stop=stop, ready=start, in_flight=0)
    child = SimpleNamespace(entry=SimpleNamespace(name="echo", account=""), connection=connection)
    pools = SimpleNamespace(children=lambda: ((child, "", ()),))
    async with TaskSet() as unfinished:
        state = SimpleNamespace(
            boards=(), shared_children=SimpleNamespace(pools=pools), unfinished=unfinished
        )
        control = DaemonControl(cast("DaemonState", state), 1)
        restart = ChildRequest(action="restart", name="echo")
        asked = asyncio.ensure_future(control.answer(restart))
        async with asyncio.timeout(5):
            await stopping.wait()
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        may_stop.set()
        async with asyncio.timeout(5):
            await started.wait()
