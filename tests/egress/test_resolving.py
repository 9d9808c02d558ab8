"""Names that nobody answers for hold up their own server, and nobody else."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from switchboard.egress.resolving import SystemResolver


class SilentNames:
    """A name server that does not answer for `*.silent.test`, and knows the rest."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.begun = threading.Semaphore(0)
        self.go_on = threading.Event()

    async def begins(self, times: int) -> None:
        """Wait until so many look-ups are under way."""
        for _ in range(times):
            await asyncio.to_thread(self.begun.acquire, timeout=10)

    def getaddrinfo(self, host: str, *_: Any, **__: Any) -> list[Any]:
        self.asked.append(host)
        self.begun.release()
        if host.endswith("silent.test"):
            self.go_on.wait(30)
            raise socket.gaierror(socket.EAI_AGAIN, "no answer")
        if host.endswith("nobody.test"):
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("203.0.113.7", 0))] * 2


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[SilentNames]:
    made = SilentNames()
    monkeypatch.setattr(socket, "getaddrinfo", made.getaddrinfo)
    yield made
    made.go_on.set()


async def test_a_silent_name_server_of_one_child_holds_up_nobody_else(names: SilentNames) -> None:
    evil, good = SystemResolver(), SystemResolver()
    stuck = [
        asyncio.ensure_future(evil.addresses(f"h{number}.silent.test", 443))
        for number in range(100)
    ]
    async with asyncio.timeout(10):
        await names.begins(4)
        # Another child, the threads that are everybody's, and what needs no look-up.
        assert await good.addresses("api.test", 443) == ["203.0.113.7"]
        loop = asyncio.get_running_loop()
        assert await loop.getaddrinfo("other.test", 443, type=socket.SOCK_STREAM)
        assert await evil.addresses("localhost", 80) == ["127.0.0.1", "::1"]
        assert await evil.addresses("192.0.2.7", 80) == ["192.0.2.7"]
        assert await evil.addresses("2001:db8::1", 80) == ["2001:db8::1"]
    assert len([each for each in names.asked if "silent" in each]) == 4
    # The thread of the good one may just be ending.
    assert sum(each.name == "switchboard-names" for each in threading.enumerate()) <= 5
    for each in stuck:
        each.cancel()
    names.go_on.set()
    await asyncio.gather(*stuck, return_exceptions=True)


async def test_one_name_is_looked_up_once_for_all_who_wait_and_a_failure_is_remembered(
    names: SilentNames,
) -> None:
    resolver = SystemResolver()
    waiting = [
        asyncio.ensure_future(resolver.addresses("one.silent.test", 443)) for _ in range(100)
    ]
    async with asyncio.timeout(10):
        await names.begins(1)
        # Whoever gives up takes it from nobody.
        waiting[0].cancel()
        names.go_on.set()
        ends = await asyncio.gather(*waiting[1:], return_exceptions=True)
        assert {type(each) for each in ends} == {socket.gaierror}
        for _ in range(3):
            with pytest.raises(socket.gaierror):
                await resolver.addresses("one.silent.test", 443)
    assert names.asked == ["one.silent.test"]
