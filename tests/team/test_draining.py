"""A gateway that is asked to stop: what it has begun ends, and what is new goes elsewhere."""

import asyncio
import signal
import socket
from pathlib import Path

import httpx2
import pytest

from gate.ground import CAPABILITIES, FORMS, SUITE, Gate, call
from support.mcp_stdio import modern_meta
from support.processes import until_true
from support.reading import read_it, reply
from support.workspace import Json, Workspace
from switchboard.postgres.address import DatabaseAddress
from switchkit.platform.ports import hear_no_more
from team.callers import (
    ACCEPTS,
    SESSION,
    Callers,
    Held,
    answer_in,
    called,
    initialize,
    modern,
    text_in,
)
from team.ground import PATIENCE, Gateway, balancer, free_port, gateway, http_client, team_of_two


@pytest.fixture
def held(workspace: Workspace) -> Held:
    return Held(workspace)


async def who(http: httpx2.AsyncClient, gateway: Gateway) -> str:
    body, headers = modern(called("two", "who"))
    return text_in(answer_in(await http.post(gateway.url, json=body, headers=headers)))


async def until_not_ready(http: httpx2.AsyncClient, gateway: Gateway) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            told = await http.get(f"{gateway.origin}/readyz")
            if told.status_code == 503:
                assert told.text == "it is about to stop\n"
                return


async def test_what_is_under_way_ends_and_what_is_new_is_answered_by_another(
    held: Held, database: DatabaseAddress
) -> None:
    async with (
        gateway(held, database) as first,
        gateway(held, database) as second,
        http_client() as http,
    ):
        processes = [await who(http, each) for each in (first, second)]
        body, headers = modern(called("one", "hold", name="alone"))
        alone = asyncio.ensure_future(http.post(first.url, json=body, headers=headers))
        sessions: list[dict[str, str]] = []
        for _ in range(2):
            begun = await http.post(first.url, json=initialize(), headers=ACCEPTS)
            sessions.append({**ACCEPTS, SESSION: begun.headers[SESSION]})
        busy, idle = sessions
        held_call = called("three", "hold", name="session")
        in_session = asyncio.ensure_future(http.post(first.url, json=held_call, headers=busy))
        following = asyncio.ensure_future(http.get(first.url, headers=idle))
        await until_true(lambda: held.has_begun("alone") and held.has_begun("session"))

        first.process.send_signal(signal.SIGTERM)
        await until_not_ready(http, first)
        assert (await http.get(f"{first.origin}/healthz")).status_code == 200
        # New: another answers, also where the balancer has not noticed yet.
        assert [await who(http, each) for each in (first, second)] == [processes[1]] * 2
        begun = await http.post(first.url, json=initialize(), headers=ACCEPTS)
        assert begun.headers["connection"] == "close"
        anew = {**ACCEPTS, SESSION: begun.headers[SESSION]}
        told = await http.post(first.url, json=called("two", "who"), headers=anew)
        assert text_in(answer_in(told)) == processes[1]
        # A session that nothing is under way in has ended, and its stream with it.
        assert (await following).status_code == 200
        lost = await http.post(second.url, json=called("two", "who"), headers=idle)
        assert lost.status_code == 404
        # One that has a call goes on, over any gateway, until the call has ended.
        other = {**called("two", "who"), "id": 2}
        told = await http.post(second.url, json=other, headers=busy)
        assert text_in(answer_in(told)) == processes[0]
        assert (alone.done(), in_session.done(), first.process.returncode) == (False, False, None)
        for name in ("alone", "session"):
            held.let_end(name)
        assert text_in(answer_in(await alone)) == "held alone"
        assert text_in(answer_in(await in_session)) == "held session"
        async with asyncio.timeout(PATIENCE):
            assert await first.process.wait() == 0
        told = await http.post(second.url, json=called("two", "who"), headers=anew)
        assert text_in(answer_in(told)) == processes[1]


async def test_a_question_of_a_gateway_that_is_to_stop_is_still_answered(
    gate: Gate, database: DatabaseAddress, tmp_path: Path
) -> None:
    async with team_of_two(gate, database, tmp_path / "nginx") as team, http_client() as http:
        params = {**call("write", text="held"), "_meta": {**modern_meta(), CAPABILITIES: FORMS}}
        asked: Json = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {**ACCEPTS, "accept": "application/json", "mcp-method": "tools/call"}
        headers |= {"mcp-protocol-version": "2026-07-28", "mcp-name": SUITE}
        first, second = team.gateways
        found = (await http.post(first.url, json=asked, headers=headers)).json()["result"]
        first.process.send_signal(signal.SIGTERM)
        await until_not_ready(http, first)
        asked["params"] |= {
            "requestState": found["requestState"],
            "inputResponses": {key: reply("allow_once") for key in found["inputRequests"]},
        }
        await read_it()
        answered = await http.post(second.url, json=asked, headers=headers)
        assert not answered.json()["result"].get("isError"), answered.text
        async with asyncio.timeout(PATIENCE):
            assert await first.process.wait() == 0
    assert gate.written == ["held"]


@pytest.mark.parametrize("why", ["the limit is over", "somebody asks again"])
async def test_it_does_not_wait_for_ever(held: Held, database: DatabaseAddress, why: str) -> None:
    words = ("--drain", "1") if why == "the limit is over" else ()
    async with gateway(held, database, *words) as alone, http_client() as http:
        body, headers = modern(called("one", "hold", name="endless"))
        lost = asyncio.ensure_future(http.post(alone.url, json=body, headers=headers))
        await until_true(lambda: held.has_begun("endless"))
        alone.process.send_signal(signal.SIGTERM)
        await until_not_ready(http, alone)
        if not words:
            # Nobody else is there who could answer.
            body, headers = modern(called("two", "who"))
            refused = await http.post(alone.url, json=body, headers=headers)
            assert refused.status_code == 503
            assert "about to stop" in refused.text
            alone.process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(PATIENCE):
            assert await alone.process.wait() == 0
        await asyncio.gather(lost, return_exceptions=True)
        held.let_end("endless")


async def test_a_balancer_has_time_to_see_that_it_stops(
    held: Held, database: DatabaseAddress
) -> None:
    async with gateway(held, database, linger_s=600) as alone, http_client() as http:
        alone.process.send_signal(signal.SIGTERM)
        await until_not_ready(http, alone)
        await until_not_ready(http, alone)
        assert alone.process.returncode is None
        alone.process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(PATIENCE):
            assert await alone.process.wait() == 0


async def test_gateways_that_are_started_again_one_by_one_fail_no_call(
    held: Held, database: DatabaseAddress, tmp_path: Path
) -> None:
    """By SIGTERM alone, behind a balancer that finds out when it cannot connect."""
    port, ports = free_port(), [free_port(), free_port()]
    origins = [f"http://127.0.0.1:{each}" for each in ports]
    name = ("--name", f"127.0.0.1:{port}")
    with balancer(tmp_path / "nginx", port, *origins) as url:
        callers = Callers(url)
        running = [gateway(held, database, *name, port=each) for each in ports]
        gateways = [await each.__aenter__() for each in running]
        try:
            async with callers.calling(modern_ones=4, sessions=4):
                await callers.more(60)
                for place in (0, 1):
                    gateways[place].process.send_signal(signal.SIGTERM)
                    async with asyncio.timeout(PATIENCE):
                        assert await gateways[place].process.wait() == 0
                    await running[place].__aexit__(None, None, None)
                    await callers.more(20)
                    running[place] = gateway(held, database, *name, port=ports[place])
                    gateways[place] = await running[place].__aenter__()
                    await callers.more(40)
        finally:
            for each in running:
                await each.__aexit__(None, None, None)
    assert callers.failed == {}
    # Each start has a server of its own.
    assert (len(callers.processes), callers.renewed > 0) == (4, True)


def test_who_has_begun_to_connect_is_not_broken_off() -> None:
    """What was sent to a socket that is closed before it is accepted would be lost."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(8)
        with socket.create_connection(listening.getsockname(), PATIENCE) as early:
            early.sendall(b"a request")
            assert hear_no_more(listening)
            with socket.socket() as late:
                late.settimeout(0.3)
                with pytest.raises(TimeoutError):
                    late.connect(listening.getsockname())
            accepted, _ = listening.accept()
            with accepted:
                assert accepted.recv(64) == b"a request"
                early.sendall(b"more")
                assert accepted.recv(64) == b"more"
