"""A service that answers as the Messages API does, or fails as one can."""

import json
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]
KEY = "sk-natural-0123456789abcdef"
_TYPE = {"content-type": "application/json"}


class Asked:
    """One request as it came."""

    def __init__(self, headers: dict[str, str], body: Json) -> None:
        self.headers = headers
        self.body = body

    @property
    def subtools(self) -> list[str]:
        """Give the names that the model may choose from."""
        return [tool["name"] for tool in self.material["subtools"]]

    @property
    def material(self) -> Json:
        return json.loads(self.body["messages"][0]["content"])

    @property
    def rules(self) -> str:
        return self.body["system"]


class ModelServer:
    """Gives its answers in order, and the last one again and again."""

    def __init__(self, answers: "tuple[Answer, ...]") -> None:
        self._answers = answers
        self.asked: list[Asked] = []
        # Set at the end, for those that hang.
        self.is_over = threading.Event()
        self.url = ""

    def next(self, asked: Asked) -> "Answer":
        self.asked.append(asked)
        return self._answers[min(len(self.asked), len(self._answers)) - 1]

    @property
    def environ(self) -> dict[str, str]:
        return {
            "PATH": "/usr/bin:/bin",
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": self.url,
        }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: ModelServer

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Keep quiet."""

    def do_POST(self) -> None:
        length = int(self.headers["content-length"])
        body = json.loads(self.rfile.read(length))
        asked = Asked({key.lower(): value for key, value in self.headers.items()}, body)
        self.model.next(asked)(self, self.model)

    def give(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**_TYPE, "content-length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


Answer = Callable[[_Handler, ModelServer], None]


def message(*content: Json, stop: str = "tool_use") -> Answer:
    """Answer with these blocks."""
    body = json.dumps({"type": "message", "content": content, "stop_reason": stop}).encode()
    return lambda handler, _: handler.give(200, body, {})


def uses(given: Any) -> Json:
    return {"type": "tool_use", "id": "toolu_1", "name": "choose", "input": given}


def chooses(subtool: str, **args: Any) -> Answer:
    return message(uses({"subtool": subtool, "args": args}))


def says(text: str, stop: str = "end_turn") -> Answer:
    return message({"type": "text", "text": text}, stop=stop)


def refuses(status: int, **headers: str) -> Answer:
    """Answer with a status; the body repeats the key, as no good service would."""
    body = json.dumps({"type": "error", "error": {"type": "bad", "message": KEY}}).encode()
    return lambda handler, _: handler.give(
        status, body, {name.replace("_", "-"): value for name, value in headers.items()}
    )


def hangs(_: _Handler, server: ModelServer) -> None:
    server.is_over.wait(60)


def cuts(handler: _Handler, _: ModelServer) -> None:
    """Begin an answer, and end the connection in the middle of it."""
    handler.send_response(200)
    handler.send_header("content-length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"content": [')
    handler.wfile.flush()
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True


def floods(handler: _Handler, _: ModelServer) -> None:
    handler.give(200, b" " * (2 * 1024 * 1024), {})


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is no business of the test."""


@contextmanager
def model_server(*answers: Answer) -> Generator[ModelServer, None, None]:
    """Serve on a free port of loopback."""
    model = ModelServer(answers)
    handler = type("Handler", (_Handler,), {"model": model})
    with _Server(("127.0.0.1", 0), handler) as server:
        model.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield model
        finally:
            model.is_over.set()
            server.shutdown()
            thread.join()
