"""Forty clients of both eras, each a program of the SDK with a person in front of it."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import Implementation

from gate.over_http import MODES, Person
from judge.record import Deed, Record
from switchboard.approvals.queue import WAIT_S
from team.ground import BEARER

SUITE = "judged_suite"
LEGACY, MODERN = MODES
# Nothing takes so long unless it is lost: a question that nobody answers ends before.
LOST_S = WAIT_S + 30.0
# What a client is told whose session is gone: it begins a new one, as the protocol says.
ANEW = "there is no such session; begin with `initialize`"
OPEN = frozenset({"queued", "working", "asking"})


class Failed(Exception):  # noqa: N818 - what a client was told
    """A deed that was not done, in the words of whoever said so."""


class Member:
    """One client: it connects, does one deed after the other, and begins anew when it must."""

    def __init__(
        self,
        url: str,
        name: str,
        era: str,
        record: Record,
        before: Callable[[Deed], None] = lambda _: None,
    ) -> None:
        """`before` is told of each deed that is about to begin."""
        self._url = url
        self.name = name
        self.era = era
        self._record = record
        self._before: Callable[[Deed], None] = before
        self._person = Person("allow_once")
        self._numbers = count()
        self._deed: Deed | None = None

    async def once(self, kind: str) -> Deed:
        """Do one deed, through as many sessions as it takes."""
        stop = asyncio.Event()
        deed = self._deed = Deed(self.name, kind, self.era, time.time())
        # After this one there is no next.
        self._before = lambda _deed: stop.set()
        await self.live([kind], 0.0, stop)
        return deed

    async def live(self, kinds: list[str], pause_s: float, stop: asyncio.Event) -> None:
        """Do deeds of these kinds in turn until it is enough."""
        while not stop.is_set():
            try:
                async with self._connected() as client:
                    await self._deeds(client, kinds, pause_s, stop)
            except* (MCPError, httpx2.HTTPError, ConnectionError):
                # A session that cannot be begun now; nothing was asked for in it.
                await _rest(stop, 0.2)

    async def _deeds(
        self, client: Client, kinds: list[str], pause_s: float, stop: asyncio.Event
    ) -> None:
        while not stop.is_set():
            deed = self._deed
            if deed is None:
                number = next(self._numbers)
                kind = kinds[number % len(kinds)]
                deed = Deed(f"{self.name}-{number}", kind, self.era, time.time())
                self._before(deed)
                if stop.is_set():
                    return
                self._deed = deed
            if not await self._done(client, deed):
                deed.anew += 1
                return
            deed.ended = time.time()
            self._record.deeds.append(deed)
            self._deed = None
            await _rest(stop, pause_s)

    async def _done(self, client: Client, deed: Deed) -> bool:
        """Do it. False where the session is gone, and with it nothing but the session."""
        doing: Callable[[Client, Deed], Awaitable[str]] = {
            "note": self._call,
            "linger": self._call,
            "write": self._call,
        }.get(deed.kind, self._run)
        try:
            async with asyncio.timeout(LOST_S):
                deed.answer = await doing(client, deed)
            deed.is_done = True
        except TimeoutError:
            deed.words = "no answer at all"
        except MCPError as error:
            if error.error.message == ANEW:
                return False
            deed.words = error.error.message or repr(error)
        except (Failed, httpx2.HTTPError) as error:
            deed.words = str(error) or repr(error)
        return True

    async def _call(self, client: Client, deed: Deed) -> str:
        given = {"action": "call", "subtool": deed.kind, "args": {"text": deed.name}}
        result: Any = await client.call_tool(SUITE, given)
        text = result.content[0].text
        if result.is_error:
            raise Failed(text)
        return json.loads(text)["content"][0]["text"]

    async def _run(self, client: Client, deed: Deed) -> str:
        """Begin a run and wait for its end; where a request fails, send it again.

        A run outlives the requests about it, and the same request finds the run that it began.
        """
        given = {"task": deed.name, "cwd": self._record.workspace}
        while True:
            asked = Deed(deed.name, "about a run", self.era, time.time())
            try:
                result, run = await _about(client, f"agent_{deed.kind}", given)
                while run["state"] in OPEN:
                    asked.began = time.time()
                    result, run = await _about(client, "run_wait", {"run_id": run["id"]})
            except (Failed, MCPError) as error:
                words = error.error.message if isinstance(error, MCPError) else str(error)
                if words == ANEW:
                    raise
                asked.ended, asked.words = time.time(), words
                self._record.deeds.append(asked)
                await asyncio.sleep(0.2)
                continue
            said = json.loads(result.content[0].text)["output"]
            if run["state"] != "completed":
                raise Failed(f"{run['state']}: {said}")
            return said

    @asynccontextmanager
    async def _connected(self) -> AsyncGenerator[Client]:
        async def heard(response: httpx2.Response) -> None:
            if self._deed is not None and "x-upstream" in response.headers:
                self._deed.gateways.add(response.headers["x-upstream"].split(",")[-1].strip())

        async with (
            httpx2.AsyncClient(
                headers=BEARER,
                trust_env=False,
                timeout=2 * LOST_S,
                event_hooks={"response": [heard]},
            ) as http,
            Client(
                streamable_http_client(self._url, http_client=http),
                mode=MODES[self.era],
                elicitation_callback=self._person,
                # Of those without a session, each is known by its address and its name.
                client_info=Implementation(name=self.name, version="1"),
            ) as client,
        ):
            # Else the SDK does so after the first call, and a call that was done would seem to
            # have failed when that fails.
            await client.list_tools()
            yield client


async def _rest(stop: asyncio.Event, pause_s: float) -> None:
    """Wait, but not beyond the end."""
    try:
        async with asyncio.timeout(pause_s):
            await stop.wait()
    except TimeoutError:
        return


async def _about(client: Client, tool: str, given: dict[str, str]) -> tuple[Any, dict[str, Any]]:
    """Call a tool that tells of a run. Raises Failed."""
    result: Any = await client.call_tool(tool, given)
    meta: dict[str, Any] = result.meta or {}
    run: dict[str, Any] | None = meta.get("switchboard/run")
    if run is None:
        raise Failed(result.content[0].text)
    return result, run
