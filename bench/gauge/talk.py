"""A plain client of one server on pipes: one request at a time, in either era."""

import contextlib
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import cast

from .link import Json, LinkLostError, as_object, encode, own_answer

HANDSHAKE, MODERN = "2025-11-25", "2026-07-28"
_PATIENCE_S = 180.0
_MOST_ROUNDS = 4
_META = "io.modelcontextprotocol/"


class Talk:
    """A server that was started, as a client speaks to it."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._in, self._out = process.stdin, process.stdout
        self._process = process
        self._buffer = b""
        self._last = 0
        # Goes with every request, in the modern era.
        self._meta: Json = {}
        # How requests of the server are answered.
        self.answer: Callable[[Json], bytes] = own_answer

    def greet(self, name: str, capabilities: Json | None = None) -> Json:
        """Shake hands under a name: some servers, and Switchboard, treat hosts differently."""
        hello: Json = {"protocolVersion": HANDSHAKE, "capabilities": capabilities or {}}
        told = self.ask("initialize", {**hello, "clientInfo": {"name": name, "version": "1"}})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return told["result"]

    def discover(self, name: str, capabilities: Json | None = None) -> Json | None:
        """Begin in the modern era; None where the server is not of it."""
        self._meta = {
            f"{_META}protocolVersion": MODERN,
            f"{_META}clientInfo": {"name": name, "version": "1"},
            f"{_META}clientCapabilities": capabilities or {},
        }
        found = self.ask("server/discover", {}).get("result")
        return found if found and MODERN in found.get("supportedVersions", ()) else None

    def ask(self, method: str, params: Json) -> Json:
        """The whole answer to a request, after whatever is asked before. Raises LinkLostError."""
        answer: Json = {}
        for _ in range(_MOST_ROUNDS):
            answer = self.await_answer(self.begin(method, params))
            result = as_object(answer.get("result"))
            if result.get("resultType") != "input_required":
                break
            params = {**params, **self._replies(result)}
        return answer

    def _replies(self, result: Json) -> Json:
        """What a modern server asked in its result, answered as a request of it would be."""
        replies: Json = {}
        for key, question in as_object(result.get("inputRequests")).items():
            told: Json = json.loads(self.answer({"id": key, **question}))
            replies[key] = told.get("result", told.get("error"))
        return {"inputResponses": replies, "requestState": result.get("requestState")}

    def begin(self, method: str, params: Json) -> int:
        """Make a request, and give its id."""
        self._last += 1
        if self._meta:
            params = {**params, "_meta": self._meta}
        self._send({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        return self._last

    def cancel(self, request: int) -> None:
        """Take a request back."""
        params = {"requestId": request, "reason": "enough"}
        note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        self._send(note)

    def await_answer(self, request: int) -> Json:
        """The answer to a request that was made. Raises LinkLostError."""
        until = time.monotonic() + _PATIENCE_S
        while True:
            message = self._receive(until)
            if "method" in message and "id" in message:
                self._in.write(self.answer(message) + b"\n")
                self._in.flush()
            elif message.get("id") == request:
                return message

    def _send(self, message: Json) -> None:
        try:
            self._in.write(encode(message).encode() + b"\n")
            self._in.flush()
        except OSError as error:
            raise LinkLostError(str(error)) from error

    def _receive(self, until: float) -> Json:
        while True:
            while b"\n" not in self._buffer:
                left = until - time.monotonic()
                ready, _, _ = select.select([self._out], [], [], max(0.0, left))
                part = os.read(self._out.fileno(), 1 << 16) if ready else b""
                if not part:
                    raise LinkLostError("the server has gone, or says nothing")
                self._buffer += part
            line, _, self._buffer = self._buffer.partition(b"\n")
            with contextlib.suppress(ValueError):
                message = json.loads(line)
                if isinstance(message, dict):
                    return cast("Json", message)


@contextlib.contextmanager
def talking(command: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Generator[Talk]:
    """Start a program, and end it with all that it started."""
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=dict(env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield Talk(process)
    finally:
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
