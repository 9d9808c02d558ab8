"""A plain client of one server on pipes: one request at a time, in the handshake era."""

import contextlib
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import cast

from .link import Json, LinkLostError, encode, own_answer

_PATIENCE_S = 90.0


class Talk:
    """A server that was started, as a client speaks to it."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._in, self._out = process.stdin, process.stdout
        self._process = process
        self._buffer = b""
        self._last = 0

    def greet(self, name: str) -> Json:
        """Shake hands under a name: some servers, and Switchboard, treat hosts differently."""
        hello: Json = {"protocolVersion": "2025-11-25", "capabilities": {}}
        told = self.ask("initialize", {**hello, "clientInfo": {"name": name, "version": "1"}})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return told["result"]

    def ask(self, method: str, params: Json) -> Json:
        """The whole answer to a request. Raises LinkLostError."""
        self._last += 1
        self._send({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        until = time.monotonic() + _PATIENCE_S
        while True:
            message = self._receive(until)
            if "method" in message and "id" in message:
                self._in.write(own_answer(message) + b"\n")
                self._in.flush()
            elif message.get("id") == self._last:
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
        with contextlib.suppress(OSError):
            process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
