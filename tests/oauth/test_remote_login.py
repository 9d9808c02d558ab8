"""A child that wants a token gets it, and nobody else does."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec import Raw

from fakes.events import MemoryEvents
from oauth.scripted_servers import Asked, ScriptedServers, Told, scripted_servers
from switchboard.children.child import Child
from switchboard.children.pool import ChildPool
from switchboard.children.reaching.child_limits import ChildLimits
from switchboard.children.schema import ServerEntry
from switchboard.children.secrets.lookup import EnvironmentSecrets
from switchboard.core.channels.channel import Channel
from switchboard.core.faults import Fault, FaultCode
from switchboard.oauth.faults import login_required
from switchkit.reaper_client import Reaper


class FakeLogins:
    """An `Authorizations` whose tokens a test sets."""

    def __init__(self) -> None:
        self.token = ""
        self.after_refusal = ""
        self.asked: list[str] = []
        self.open_count = 0

    def open(
        self,
        entry: ServerEntry,
        *,
        environ: Mapping[str, str],
        secret: Callable[[str], str | None],
        learn: Callable[[Iterable[str]], None],
        forget: Callable[[Iterable[str]], None],
    ) -> "FakeLogins":
        del entry, environ, secret, learn, forget
        self.open_count += 1
        return self

    async def offer(self, entry: ServerEntry, channel: Channel) -> bool:
        del entry, channel
        return False

    async def header(self) -> str:
        return self.token

    async def renewed(self, refused: str) -> str:
        self.asked.append(refused)
        if self.after_refusal and self.after_refusal != refused:
            self.token = self.after_refusal
            return self.token
        return ""

    def fault(self, status: int, challenge: str) -> Fault | None:
        del challenge
        return login_required(ServerEntry(name="far", transport="http")) if status == 401 else None

    def close(self) -> None:
        self.open_count -= 1


def wanting(token: str) -> Callable[[Asked], Told]:
    """An MCP server of the handshake era that takes this token."""

    def answer(asked: Asked) -> Told:
        if asked.headers.get("authorization") != f"Bearer {token}":
            return Told(401, {}, {"www-authenticate": "Bearer"})
        message: dict[str, Any] = json.loads(asked.body) if asked.body else {}
        if asked.method != "POST" or "id" not in message:
            return Told(202 if asked.method == "POST" else 405)
        results: dict[str, Any] = {
            "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}},
            "tools/list": {"tools": []},
            "tools/call": {"content": [{"type": "text", "text": "done"}]},
        }
        if message["method"] not in results:
            return Told(400, {"id": message["id"], "error": {"code": -32601, "message": "what?"}})
        return Told(
            200, {"jsonrpc": "2.0", "id": message["id"], "result": results[message["method"]]}
        )

    return answer


@asynccontextmanager
async def child_of(url: str, logins: FakeLogins, **more: Any) -> AsyncGenerator[Child]:
    reaper = Reaper()
    pool = ChildPool(
        environ={},
        secrets=EnvironmentSecrets({}),
        events=MemoryEvents(),
        reaper=reaper,
        logins=lambda: logins,
    )
    entry = ServerEntry(name="far", transport="http", url=url, **more)
    try:
        yield pool.child(entry, ChildLimits(spawn_s=5, rpc_s=10))
    finally:
        await pool.aclose()
        reaper.close()


def shown(servers: ScriptedServers) -> list[str]:
    return [each.headers.get("authorization", "") for each in servers.asked]


async def call(child: Child) -> bytes:
    return bytes(await child.call("anything", Raw(b"{}")))


async def test_every_request_carries_the_token() -> None:
    async with scripted_servers() as servers:
        servers.script["/mcp"] = wanting("good")
        logins = FakeLogins()
        logins.token = "Bearer good"
        async with child_of(servers.url, logins) as child:
            assert b"done" in await call(child)
        assert set(shown(servers)) == {"Bearer good"}
        assert logins.asked == []
        assert logins.open_count == 0


async def test_a_refused_token_is_renewed_once_and_the_call_goes_on() -> None:
    async with scripted_servers() as servers:
        servers.script["/mcp"] = wanting("good")
        logins = FakeLogins()
        logins.token, logins.after_refusal = "Bearer good", "Bearer better"
        async with child_of(servers.url, logins) as child:
            await call(child)
            servers.script["/mcp"] = wanting("better")
            assert b"done" in await call(child)
        assert logins.asked == ["Bearer good"]


async def test_a_server_that_refuses_every_token_is_asked_twice_and_no_more() -> None:
    async with scripted_servers() as servers:
        servers.script["/mcp"] = Told(401)
        logins = FakeLogins()
        logins.token, logins.after_refusal = "Bearer one", "Bearer two"
        async with child_of(servers.url, logins) as child:
            with pytest.raises(Fault) as fault:
                await call(child)
        assert (fault.value.code, fault.value.reason) == (
            FaultCode.UNAUTHENTICATED,
            "login-required",
        )
        assert shown(servers) == ["Bearer one", "Bearer two"]


async def test_after_a_login_the_same_call_works_however_often_it_failed_before() -> None:
    async with scripted_servers() as servers:
        servers.script["/mcp"] = wanting("good")
        logins = FakeLogins()
        async with child_of(servers.url, logins) as child:
            for _ in range(6):
                with pytest.raises(Fault) as fault:
                    await call(child)
                assert fault.value.reason == "login-required"
            logins.token = "Bearer good"
            assert b"done" in await call(child)


@pytest.mark.parametrize("status", [301, 307, 308])
async def test_no_token_travels_to_another_origin(status: int) -> None:
    async with scripted_servers() as servers, scripted_servers() as other:
        servers.script["/mcp"] = Told(status, {}, {"location": other.url})
        logins = FakeLogins()
        logins.token = "Bearer good"
        async with child_of(servers.url, logins) as child:
            with pytest.raises(Fault) as fault:
                await call(child)
        assert fault.value.reason == "remote-redirected"
        assert other.asked == []


async def test_a_token_is_kept_within_the_origin() -> None:
    async with scripted_servers() as servers:
        servers.script["/mcp"] = Told(307, {}, {"location": "/elsewhere"})
        servers.script["/elsewhere"] = wanting("good")
        logins = FakeLogins()
        logins.token = "Bearer good"
        async with child_of(servers.url, logins) as child:
            assert b"done" in await call(child)


async def test_a_header_of_the_entry_is_all_that_is_sent_where_there_is_no_auth() -> None:
    async with scripted_servers() as servers:
        servers.script["/mcp"] = wanting("static")
        logins = FakeLogins()
        logins.token = "Bearer login"
        headers = {"authorization": "Bearer static"}
        async with child_of(servers.url, logins, headers=headers) as child:
            assert b"done" in await call(child)
        assert set(shown(servers)) == {"Bearer static"}
        assert logins.open_count == 0


async def test_a_waiting_call_ends_with_the_fault_of_a_renewal_that_failed() -> None:
    class Failing(FakeLogins):
        async def renewed(self, refused: str) -> str:
            await asyncio.sleep(0)
            raise Fault(FaultCode.UNAVAILABLE, "login-not-renewed", refused and "later")

    async with scripted_servers() as servers:
        servers.script["/mcp"] = Told(401)
        logins = Failing()
        logins.token = "Bearer one"
        async with child_of(servers.url, logins) as child:
            with pytest.raises(Fault) as fault:
                await call(child)
        assert fault.value.reason == "login-not-renewed"
