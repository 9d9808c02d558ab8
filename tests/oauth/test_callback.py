"""The address on this machine that a browser is led back to."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from switchboard.core.faults import Fault
from switchboard.oauth.login.callback import Callback, answer_in


@asynccontextmanager
async def waiting() -> AsyncGenerator[tuple[Callback, int]]:
    async with Callback() as callback:
        callback.expect(lambda answer: answer.get("state") == "right")
        yield callback, int(callback.redirect_uri.split(":")[2].partition("/")[0])


async def ask(port: int, target: str, host: str = "", method: str = "GET", more: str = "") -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    host = host or f"127.0.0.1:{port}"
    writer.write(f"{method} {target} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n".encode())
    async with asyncio.timeout(10):
        said = (await reader.read()).decode()
    writer.close()
    return said


async def test_the_answer_comes_once_and_then_nobody_listens() -> None:
    async with waiting() as (callback, port):
        assert callback.redirect_uri == f"http://127.0.0.1:{port}/callback"
        assert " 200 " in await ask(port, "/callback?state=right&code=one")
        assert await callback.answer(5) == {"state": "right", "code": "one"}
        with pytest.raises(OSError, match=r"refused|111"):
            await ask(port, "/callback?state=right&code=two")
        assert await callback.answer(5) == {"state": "right", "code": "one"}


@pytest.mark.parametrize(
    ("target", "host", "method"),
    [
        ("/callback?state=wrong&code=evil", "", "GET"),
        ("/callback?code=evil", "", "GET"),
        ("/callback?state=right&state=wrong&code=evil", "", "GET"),
        ("/callback", "", "GET"),
        ("/other?state=right&code=evil", "", "GET"),
        ("/callback?state=right&code=evil", "evil.example", "GET"),
        ("/callback?state=right&code=evil", "localhost:{port}", "GET"),
        ("/callback?state=right&code=evil", "127.0.0.1", "GET"),
        ("/callback?state=right&code=evil", "127.0.0.1:{port}\r\nHost: evil.example", "GET"),
        ("/callback?state=right&code=evil", "", "POST"),
        ("/callback?state=right&code=evil", "", "OPTIONS"),
    ],
)
async def test_what_is_not_the_answer_is_turned_away_and_the_wait_goes_on(
    target: str, host: str, method: str
) -> None:
    async with waiting() as (callback, port):
        said = await ask(port, target, host.format(port=port), method)
        assert " 400 " in said
        assert "evil" not in said
        assert " 200 " in await ask(port, "/callback?state=right&code=good")
        assert (await callback.answer(5))["code"] == "good"


async def test_the_page_is_always_the_same() -> None:
    async with waiting() as (_, port):
        bad = await ask(port, "/callback?state=<script>alert(1)</script>")
        good = await ask(port, "/callback?state=right&error=<b>denied</b>")
        assert bad.partition("\r\n\r\n")[2] == good.partition("\r\n\r\n")[2]
        assert "script" not in bad
        assert "Content-Security-Policy: default-src 'none'" in bad


async def test_a_head_without_end_is_not_read_for_ever() -> None:
    async with waiting() as (callback, port):
        assert await ask(port, "/callback", more=f"X: {'a' * 20_000}\r\n") == ""
        await ask(port, "/callback?state=right&code=good")
        assert (await callback.answer(5))["code"] == "good"


async def test_nobody_waits_for_ever() -> None:
    async with waiting() as (callback, _):
        with pytest.raises(Fault) as fault:
            await callback.answer(0.05)
        assert fault.value.reason == "login-unfinished"


def test_a_pasted_address_is_read_as_the_browser_would_bring_it() -> None:
    assert answer_in("http://127.0.0.1:1/callback?code=a&state=b") == {"code": "a", "state": "b"}
    assert answer_in("http://127.0.0.1:1/other?code=a") is None
    assert answer_in("nonsense") is None
    assert answer_in("http://[") is None
