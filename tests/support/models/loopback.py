"""An HTTP server on loopback for one scripted model, and the record of what it was asked."""

import gzip
import json
import threading
import zlib
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple, Protocol

from support.models.script import Json, Reply, Say, Situation, Step


class Request(NamedTuple):
    """One request of a host."""

    path: str
    body: Json


class Dialect(Protocol):
    """How one model service speaks."""

    def situation(self, body: Json) -> Situation:
        """Give what the model has before it in this request."""
        ...

    def results(self, body: Json) -> list[Json]:
        """Give the results of tools that the model has seen, those of a search left out."""
        ...

    def aside(self, body: Json) -> Reply | None:
        """Give the answer to a side job of the host, which does not use up a step."""
        ...

    def events(self, body: Json, reply: Reply) -> list[Json]:
        """Give the reply as the events of a stream."""
        ...

    def whole(self, body: Json, reply: Reply) -> Json:
        """Give the reply as one object, for a host that does not stream."""
        ...


class ScriptedModel:
    """A model that plays its steps in order and records what it was asked."""

    def __init__(self, dialect: Dialect, path: str, steps: Sequence[Step]) -> None:
        self._dialect = dialect
        self._steps = steps
        self.path = path
        self.url = ""
        self.requests: list[Request] = []

    def reply(self, request: Request) -> Reply:
        self.requests.append(request)
        aside = self._dialect.aside(request.body)
        if aside is not None:
            return aside
        turn = len(self._dialect.results(request.body))
        if turn >= len(self._steps):
            return Say("the script is over")
        return self._steps[turn](self._dialect.situation(request.body))

    def events(self, body: Json, reply: Reply) -> list[Json]:
        return self._dialect.events(body, reply)

    def whole(self, body: Json, reply: Reply) -> Json:
        return self._dialect.whole(body, reply)

    @property
    def conversation(self) -> Json:
        """Give the body of the last request that was no side job."""
        return self._mains()[-1]

    @property
    def results(self) -> list[str]:
        """Give what the tools returned to the model, each as the text of its JSON."""
        return [json.dumps(result) for result in self._dialect.results(self.conversation)]

    @property
    def offers(self) -> list[Situation]:
        """Give what the model had before it in each request that was no side job."""
        return [self._dialect.situation(body) for body in self._mains()]

    def _mains(self) -> list[Json]:
        return [r.body for r in self.requests if self._dialect.aside(r.body) is None]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: ScriptedModel

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Keep quiet."""

    def do_HEAD(self) -> None:
        self._send(200, b"", "application/json")

    def do_GET(self) -> None:
        models = [{"id": "mock-model", "object": "model", "type": "model"}]
        listing = {"object": "list", "data": models, "models": [], "has_more": False}
        self._send(200, json.dumps(listing).encode(), "application/json")

    def do_POST(self) -> None:
        body: Json = json.loads(self._body() or b"{}")
        path = self.path.partition("?")[0]
        if path.endswith("/count_tokens"):
            self._send(200, b'{"input_tokens": 100}', "application/json")
        elif not path.endswith(self.model.path):
            self._send(404, b'{"error": {"message": "no such path"}}', "application/json")
        else:
            reply = self.model.reply(Request(path, body))
            if body.get("stream"):
                events = self.model.events(body, reply)
                lines = [f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events]
                self._send(200, "".join(lines).encode(), "text/event-stream")
            else:
                whole = self.model.whole(body, reply)
                self._send(200, json.dumps(whole).encode(), "application/json")

    def _body(self) -> bytes:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        match self.headers.get("Content-Encoding"):
            case "gzip":
                return gzip.decompress(raw)
            case "deflate":
                return zlib.decompress(raw)
            case _:
                return raw

    def _send(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A host that hangs up in the middle is no business of the test."""


@contextmanager
def serving(model: ScriptedModel) -> Generator[ScriptedModel, None, None]:
    """Serve the model on a free port of loopback; its address is `model.url`."""
    handler = type("Handler", (_Handler,), {"model": model})
    with _Server(("127.0.0.1", 0), handler) as server:
        model.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield model
        finally:
            server.shutdown()
            thread.join()
