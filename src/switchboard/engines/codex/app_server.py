"""JSON-RPC with one `codex app-server`. It knows the handshake, and not what is said after it."""

import asyncio
from collections.abc import Mapping
from typing import Any, cast

import switchboard
from switchboard.core.faults import Fault
from switchboard.core.loop.tasks import TaskSet
from switchboard.engines.process import EngineProcess
from switchkit.reaper_client import Reaper

Json = dict[str, Any]

START_S = 30.0
# So many messages wait for their reader before Codex has to; it writes a lot of small pieces.
_MOST_WAITING = 2_000
_UNKNOWN_METHOD = -32601


class ServerRefused(Exception):
    """A request was answered with an error."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(str(error.get("message")))
        self.error = error


class ServerGone(Exception):
    """The process ended, or says what nobody can read."""


class AppServer:
    """One process of Codex, ready for a conversation."""

    def __init__(self, process: EngineProcess) -> None:
        self._process = process
        self._tasks = TaskSet()
        self._answers: dict[int, asyncio.Future[Json]] = {}
        self._last_id = 0
        self._inbox: asyncio.Queue[Json | None] = asyncio.Queue()
        self._room = asyncio.Event()
        self._room.set()
        self._is_over = False
        self._forgotten = ""
        self._why = ""

    @classmethod
    async def start(
        cls, argv: tuple[str, ...], *, cwd: str, env: Mapping[str, str], reaper: Reaper
    ) -> "AppServer":
        """Start it and shake hands. Raises a fault, `ServerRefused` or `ServerGone`."""
        server = cls(await EngineProcess.start(argv, cwd=cwd, env=env, reaper=reaper))
        try:
            server._tasks.start(server._read())
            hello = {
                "clientInfo": {
                    "name": "switchboard",
                    "title": "Switchboard",
                    "version": switchboard.__version__,
                },
                "capabilities": {"experimentalApi": True, "requestAttestation": False},
            }
            await server.request("initialize", hello, within_s=START_S)
            await server._process.send({"method": "initialized"})
        except ServerGone:
            await asyncio.shield(server.aclose())
            raise ServerGone(server.last_words) from None
        except BaseException:
            await asyncio.shield(server.aclose())
            raise
        return server

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come."""
        return self._is_over

    @property
    def last_words(self) -> str:
        """Why it is over, as far as it said so: for the log."""
        return "\n".join(filter(None, (self._why, self._process.last_words)))

    async def request(self, method: str, params: Json, *, within_s: float) -> Json:
        """Ask, and wait for the answer. Raises `ServerRefused` or `ServerGone`."""
        if self._is_over:
            raise ServerGone
        self._last_id += 1
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._answers[self._last_id] = answer
        # Its answer may stand behind more messages than may wait.
        self._room.set()
        message_id = self._last_id
        try:
            async with asyncio.timeout(within_s):
                await self._process.send({"id": message_id, "method": method, "params": params})
                said = await answer
        except TimeoutError:
            self._why = f"no answer to {method} within {within_s:g} s"
            raise ServerGone from None
        finally:
            del self._answers[message_id]
        if "error" in said:
            raise ServerRefused(cast("Json", said["error"]))
        return cast("Json", said.get("result") or {})

    async def respond(self, request_id: Any, result: Json) -> None:
        """Answer a request of the server."""
        await self._process.send({"id": request_id, "result": result})

    async def refuse(self, request_id: Any) -> None:
        """Say that a request of the server is not served here."""
        error = {"code": _UNKNOWN_METHOD, "message": "not served by this client"}
        await self._process.send({"id": request_id, "error": error})

    async def next(self) -> Json | None:
        """The next notification or request; nothing once it is over."""
        if self._is_over and self._inbox.empty():
            return None
        message = await self._inbox.get()
        if self._inbox.qsize() < _MOST_WAITING:
            self._room.set()
        return message

    def forget(self, thread_id: str) -> None:
        """Leave out what was heard so far, and what is still to come of this conversation."""
        self._forgotten = thread_id
        while not self._inbox.empty() and not self._is_over:
            self._inbox.get_nowait()
        self._room.set()

    async def aclose(self) -> None:
        """End the process with everything it started."""
        await self._process.end()
        await self._tasks.aclose()
        self._finish()

    async def _read(self) -> None:
        try:
            while (message := await self._process.receive()) is not None:
                if "method" not in message:
                    waiting = self._answers.get(cast("int", message.get("id")))
                    if waiting is not None and not waiting.done():
                        waiting.set_result(message)
                    continue
                if self._forgotten and self._forgotten == _thread_of(message):
                    continue
                self._inbox.put_nowait(message)
                if self._inbox.qsize() >= _MOST_WAITING and not self._answers:
                    self._room.clear()
                await self._room.wait()
        except Fault as fault:
            self._why = fault.message
        finally:
            self._finish()

    def _finish(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._inbox.put_nowait(None)
            for waiting in self._answers.values():
                if not waiting.done():
                    waiting.set_exception(ServerGone())


def _thread_of(message: Json) -> object:
    params = cast("Json", message.get("params") or {})
    return params.get("threadId") or cast("Json", params.get("thread") or {}).get("id")
