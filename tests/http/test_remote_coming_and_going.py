"""Remote servers that come and go: the next call works, and nothing that may write runs twice."""

import asyncio
import contextlib
import socket
import time
from collections.abc import Callable, Generator
from typing import Any

import pytest
from edges.children import Remote, remote_child
from edges.moody import KINDS, NO_ANSWER, Kind, Moody, calls
from edges.scripted import Asked, Told, scripted

from switchboard.children.http.socket_options import WATCHED
from switchboard.core.faults import Fault, FaultCode

EACH = pytest.mark.parametrize("kind", KINDS)
HTTP = pytest.mark.parametrize("kind", ["handshake", "modern"])


@contextlib.contextmanager
def once(server: Moody, told: Told, when: Callable[[Asked], bool]) -> Generator[list[Asked]]:
    """Have one request answered otherwise; gives those that were."""
    struck: list[Asked] = []

    def mood(asked: Asked) -> Told | None:
        if not struck and when(asked):
            struck.append(asked)
            return told
        return None

    server.mood = mood
    yield struck
    assert struck


async def text(remote: Remote, tool: str) -> str:
    return await remote.text(tool)


async def interrupted(remote: Remote, tool: str) -> Fault:
    with pytest.raises(Fault) as caught:
        await remote.call(tool)
    return caught.value


@EACH
async def test_a_call_after_the_server_was_started_anew_is_like_any_other(kind: Kind) -> None:
    """It may write: the new server says itself that it never took the call."""
    moody = Moody(kind)
    async with (
        scripted(moody) as server,
        remote_child(server.url, transport=moody.transport) as remote,
    ):
        assert await text(remote, "send") == "send"
        moody.forget_sessions()
        assert await text(remote, "send") == "send"
        assert moody.ran == ["send", "send"]


async def test_eight_that_find_their_session_gone_make_one_new_one() -> None:
    moody = Moody("handshake")
    async with scripted(moody) as server, remote_child(server.url) as remote:
        await remote.tools()
        moody.forget_sessions()
        texts = await asyncio.gather(*(text(remote, "send") for _ in range(8)))
        assert texts == ["send"] * 8
        assert moody.ran == ["send"] * 8
        assert moody.greetings == 2


@EACH
async def test_a_call_that_may_write_and_was_under_way_is_not_repeated(kind: Kind) -> None:
    moody = Moody(kind)
    async with (
        scripted(moody) as server,
        remote_child(server.url, transport=moody.transport) as remote,
    ):
        await remote.tools()

        def run_and_die(asked: Asked) -> Told | None:
            if calls(asked):
                moody.ran.append("send")
                moody.forget_sessions()
                return NO_ANSWER
            return None

        moody.mood = run_and_die
        fault = await interrupted(remote, "send")
        assert (fault.code, fault.reason) == (FaultCode.UNAVAILABLE, "call-interrupted")
        assert "`send` was under way: it may or may not have run" in fault.message
        assert fault.details == {"may_have_run": True}
        assert moody.ran == ["send"]
        moody.mood = lambda _: None
        assert await text(remote, "send") == "send"


@EACH
@pytest.mark.parametrize("tool", ["look", "put"])
async def test_a_call_that_only_reads_is_repeated(kind: Kind, tool: str) -> None:
    moody = Moody(kind)
    async with (
        scripted(moody) as server,
        remote_child(server.url, transport=moody.transport) as remote,
    ):
        with once(moody, NO_ANSWER, calls):
            # Nobody has listed its tools yet, so that has to be done to know.
            assert await text(remote, tool) == tool
        assert moody.ran == [tool]


async def test_the_word_of_a_server_that_is_not_trusted_repeats_nothing() -> None:
    moody = Moody("handshake")
    async with (
        scripted(moody) as server,
        remote_child(server.url, trust_annotations=False) as remote,
    ):
        with once(moody, NO_ANSWER, calls):
            assert (await interrupted(remote, "look")).reason == "call-interrupted"


@EACH
async def test_a_listing_is_repeated(kind: Kind) -> None:
    moody = Moody(kind)
    async with (
        scripted(moody) as server,
        remote_child(server.url, transport=moody.transport) as remote,
    ):
        with once(moody, NO_ANSWER, lambda asked: asked.rpc == "tools/list"):
            assert await remote.tools() == ["look", "put", "send"]


@EACH
async def test_first_words_are_repeated(kind: Kind) -> None:
    moody = Moody(kind)
    async with (
        scripted(moody) as server,
        remote_child(server.url, transport=moody.transport) as remote,
    ):
        with once(moody, Told(503), lambda _: True):
            assert await text(remote, "send") == "send"


@HTTP
@pytest.mark.parametrize("status", [502, 503, 504])
async def test_a_gateway_that_lost_its_server_may_have_brought_it_the_call(
    kind: Kind, status: int
) -> None:
    moody = Moody(kind)
    async with scripted(moody) as server, remote_child(server.url) as remote:
        await remote.tools()
        with once(moody, Told(status), calls):
            assert (await interrupted(remote, "send")).reason == "call-interrupted"
        with once(moody, Told(status), calls):
            assert await text(remote, "look") == "look"
        assert moody.ran == ["look"]


@HTTP
async def test_a_server_that_says_when_to_come_back_has_not_begun(kind: Kind) -> None:
    moody = Moody(kind)
    async with scripted(moody) as server, remote_child(server.url) as remote:
        await remote.tools()
        with once(moody, Told(503, b"", {"retry-after": "0"}), calls):
            assert await text(remote, "send") == "send"
        assert moody.ran == ["send"]


async def test_a_server_that_asks_for_a_long_rest_gets_it() -> None:
    moody = Moody("handshake")
    async with scripted(moody) as server, remote_child(server.url) as remote:
        await remote.tools()
        with once(moody, Told(503, b"", {"retry-after": "3600"}), calls):
            fault = await interrupted(remote, "send")
        assert (fault.reason, fault.hint) == (
            "remote-unreachable",
            "it asks to be left alone for 3600 s",
        )


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


@EACH
@pytest.mark.parametrize("was_reached", [False, True])
async def test_a_server_that_is_away_for_a_moment_is_waited_for(
    kind: Kind, was_reached: bool
) -> None:
    moody = Moody(kind)
    port = free_port()
    async with remote_child(f"http://127.0.0.1:{port}/mcp", transport=moody.transport) as remote:
        if was_reached:
            async with scripted(moody, port) as before:
                await remote.tools()
                moody.forget_sessions()
                await before.hang_up()
        waiting = [asyncio.ensure_future(text(remote, "send")) for _ in range(8)]
        async with asyncio.timeout(5):
            while await remote.child.connection.is_connected():  # noqa: ASYNC110 - it has to be asked
                await asyncio.sleep(0.02)
        greetings = moody.greetings
        async with scripted(moody, port) as server:
            assert await asyncio.gather(*waiting) == ["send"] * 8
            assert moody.ran == ["send"] * 8
            # One of the eight looked whether it is there again.
            assert moody.greetings - greetings <= 1
            assert len(server.said("ping")) <= 1
            assert await remote.child.connection.is_connected()


async def test_a_server_that_stays_away_is_given_up_and_found_when_it_is_back() -> None:
    moody = Moody("handshake")
    port = free_port()
    async with remote_child(f"http://127.0.0.1:{port}/mcp") as remote:
        fault = await interrupted(remote, "look")
        assert fault.reason == "remote-unreachable"
        assert not await remote.child.connection.is_connected()
        for _ in range(3):
            # Who has failed in vain is not waited for again.
            began = time.monotonic()
            assert (await interrupted(remote, "look")).reason == "remote-unreachable"
            assert time.monotonic() - began < 5
        async with scripted(moody, port):
            assert await text(remote, "look") == "look"


async def test_a_name_that_is_not_found_for_a_moment_is_looked_up_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moody = Moody("handshake")
    looked_up = 0
    real = socket.getaddrinfo

    def look_up(host: Any, *more: Any, **rest: Any) -> Any:
        nonlocal looked_up
        if host not in ("far.test", b"far.test"):
            return real(host, *more, **rest)
        looked_up += 1
        if looked_up < 3:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return real("127.0.0.1", *more, **rest)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    async with (
        scripted(moody) as server,
        remote_child(server.url.replace("127.0.0.1", "far.test")) as remote,
    ):
        assert await text(remote, "send") == "send"
        assert looked_up >= 3


@HTTP
async def test_connections_that_the_server_closed_meanwhile_are_not_used(kind: Kind) -> None:
    moody = Moody(kind)
    async with scripted(moody) as server, remote_child(server.url) as remote:
        await remote.tools()
        for _ in range(3):
            await server.hang_up()
            assert await text(remote, "send") == "send"
        assert moody.ran == ["send"] * 3


@EACH
async def test_after_a_sleep_no_connection_of_before_is_used(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of before lead nowhere, and nobody would ever say so."""
    moody = Moody(kind)
    async with (
        scripted(moody) as server,
        remote_child(server.url, transport=moody.transport) as remote,
    ):
        await remote.tools()
        server.go_deaf()
        slept = time.time
        monkeypatch.setattr(
            "switchboard.children.http.sleep_watch.time.time", lambda: slept() + 3600
        )
        async with asyncio.timeout(5):
            assert await text(remote, "send") == "send"
        assert moody.ran == ["send"]


async def test_the_kernel_watches_over_every_connection() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as connection,
    ):
        for level, name, value in WATCHED:
            connection.setsockopt(level, name, value)
            assert connection.getsockopt(level, name) == value


async def test_a_server_that_does_not_answer_is_not_said_to_be_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("switchboard.children.reaching.recovery._SIGN_LASTS_S", 0)
    moody = Moody("handshake")
    port = free_port()
    async with remote_child(f"http://127.0.0.1:{port}/mcp") as remote:
        async with scripted(moody, port) as server:
            await remote.tools()
            assert await remote.child.connection.is_connected()
            await server.hang_up()
        assert not await remote.child.connection.is_connected()
        async with scripted(moody, port):
            assert await remote.child.connection.is_connected()
