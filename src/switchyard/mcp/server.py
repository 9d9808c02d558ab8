"""The stdio server: newline-delimited JSON-RPC, nothing else on stdout; ends with its client."""

import contextlib
import json
import os
import sys
import threading
import time
from typing import Any, BinaryIO, cast

from switchyard.mcp.session import INVALID_REQUEST, PARSE_ERROR, McpSession, error_answer

LARGEST_MESSAGE = 1 << 24
PARENT_CHECK_S = 1.0
LAST_WORDS_S = 60.0


def _watch_parent() -> None:
    """End when the client has gone without closing the pipe."""
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(PARENT_CHECK_S)
    os._exit(0)


class StdioServer:
    """Reads messages, has them answered, and writes each answer as one line."""

    def __init__(self, session: McpSession, reader: BinaryIO, writer: int) -> None:
        self._session = session
        self._reader = reader
        self._writer = writer
        self._lock = threading.Lock()
        self._cancelled: set[str] = set()
        self._slow: list[threading.Thread] = []

    def _write(self, answer: Any) -> None:
        view = memoryview(json.dumps(answer, separators=(",", ":")).encode() + b"\n")
        with self._lock, contextlib.suppress(BrokenPipeError):
            while view:
                view = view[os.write(self._writer, view) :]

    def serve(self) -> None:
        """Serve until the client closes its side."""
        while raw := self._reader.readline(LARGEST_MESSAGE):
            if not raw.endswith(b"\n") and len(raw) >= LARGEST_MESSAGE:
                self._write(error_answer(None, {"code": INVALID_REQUEST, "message": "too long"}))
                while raw and not raw.endswith(b"\n"):
                    raw = self._reader.readline(LARGEST_MESSAGE)
                continue
            if raw.strip():
                self._take(raw)
        until = time.monotonic() + LAST_WORDS_S
        for thread in self._slow:
            thread.join(max(0.0, until - time.monotonic()))

    def _take(self, raw: bytes) -> None:
        try:
            message: Any = json.loads(raw)
        except (ValueError, RecursionError):
            self._write(error_answer(None, {"code": PARSE_ERROR, "message": "not JSON"}))
            return
        if isinstance(message, list):
            self._batch(cast("list[Any]", message))
            return
        if self._is_cancellation(message):
            return
        if self._session.is_slow(message):
            work: tuple[Any] = (message,)
            thread = threading.Thread(target=self._answer, args=work, daemon=True)
            self._slow = [one for one in self._slow if one.is_alive()] + [thread]
            thread.start()
        else:
            self._answer(message)

    def _is_cancellation(self, message: Any) -> bool:
        """Note that an answer is no longer wanted. Work that has begun is finished anyway."""
        if not isinstance(message, dict):
            return False
        found = cast("dict[str, Any]", message)
        if found.get("method") != "notifications/cancelled":
            return False
        params: Any = found.get("params")
        if isinstance(params, dict):
            self._cancelled.add(str(cast("dict[str, Any]", params).get("requestId")))
        return True

    def _answer(self, message: Any) -> None:
        answer = self._session.answer(message)
        if answer is None:
            return
        if str(answer["id"]) in self._cancelled:
            self._cancelled.discard(str(answer["id"]))
            return
        self._write(answer)

    def _batch(self, messages: list[Any]) -> None:
        if not messages:
            self._write(error_answer(None, {"code": INVALID_REQUEST, "message": "an empty batch"}))
            return
        found = [self._session.answer(one) for one in messages]
        answers = [one for one in found if one is not None]
        if answers:
            self._write(answers)


def serve_stdio(session: McpSession) -> None:
    """Serve this process's stdin and stdout. Whatever else prints goes to stderr."""
    writer = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    threading.Thread(target=_watch_parent, daemon=True).start()
    StdioServer(session, sys.stdin.buffer, writer).serve()
