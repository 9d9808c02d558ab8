"""Newline JSON-RPC on the standard streams of a program."""

import json
import os
import select
import subprocess
import time
from collections import deque

from .link import Json, LinkLostError, own_answer

READ_BYTES = 1 << 18


class PipeLink:
    """Speaks to the program that it is given."""

    def __init__(self, program: subprocess.Popen[bytes]) -> None:
        assert program.stdin is not None
        assert program.stdout is not None
        self._into = program.stdin.fileno()
        self._from = program.stdout.fileno()
        self._poll = select.poll()
        self._poll.register(self._from, select.POLLIN)
        self._lines: deque[bytes] = deque()
        self._part: list[bytes] = []

    def send(self, body: bytes, *, method: str, name: str | None = None) -> None:
        del method, name
        left = memoryview(body + b"\n")
        try:
            while left:
                left = left[os.write(self._into, left) :]
        except OSError as error:
            raise LinkLostError(f"cannot write: {error.strerror}") from error

    def receive(self, seconds: float) -> Json:
        end = time.perf_counter() + seconds
        while True:
            while not self._lines:
                self._read(end - time.perf_counter())
            try:
                message = json.loads(self._lines.popleft())
            except ValueError:
                continue
            if "method" not in message:
                return message
            if "id" in message:
                self.send(own_answer(message), method="")

    def _read(self, seconds: float) -> None:
        if seconds <= 0 or not self._poll.poll(seconds * 1000):
            raise LinkLostError("no answer in time")
        data = os.read(self._from, READ_BYTES)
        if not data:
            raise LinkLostError("its output has closed")
        first, *others = data.split(b"\n")
        self._part.append(first)
        if others:
            self._lines.append(b"".join(self._part))
            self._lines.extend(others[:-1])
            self._part = [others[-1]]

    def settle(self) -> None:
        """Nothing to do: an answer is one line."""

    def agreed(self, version: str) -> None:
        """Nothing to do: a pipe has no headers."""

    def close(self) -> None:
        """Nothing to do: the streams are closed with the program."""
