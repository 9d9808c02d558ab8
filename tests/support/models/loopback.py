"""An HTTP server on loopback for one scripted model, and the record of what it was asked."""

import gzip
import json
import threading
import zlib
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple, Protocol

from support.models.script import (
    Cut,
    Hang,
    Json,
    Refuse,
    Reply,
    Say,
    Situation,
    Step,
    Stream,
    Stumble,
)


class Request(NamedTuple):
    """One request of a host."""

    path: str
    body: Json
    headers: Mapping[str, str] = {}


class Dialect(Protocol):
    """How one model service speaks."""

    def situation(self, body: Json) -> Situation:
        """Give what the model has before it in this request."""
        ...

    def results(self, body: Json) -> list[Json]:
        """Give the results of tools that the model has seen, those of a search left out."""
        ...

    def said(self, body: Json) -> int:
        """Say how many turns the model has ended with words before this request."""
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

    def __init__(
        self, dialect: Dialect, path: str, steps: Sequence[Step], *, streams: bool = False
    ) -> None:
        self._dialect = dialect
        self._steps = steps
        self.path = path
        # Whether the path says it, and not the request, that the answer is a stream.
        self.streams = streams
        self.url = ""
        self.requests: list[Request] = []
        self.over = threading.Event()

    def reply(self, request: Request) -> Reply | Stumble:
        self.requests.append(request)
        aside = self._dialect.aside(request.body)
        if aside is not None:
            return aside
        turn = len(self._dialect.results(request.body)) + self._dialect.said(request.body)
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
            self._answer(body, self.model.reply(Request(path, body, dict(self.headers))))

    def _answer(self, body: Json, reply: Reply | Stumble) -> None:
        match reply:
            case Refuse():
                text = json.dumps(reply.body).encode()
                self._send(reply.status, text, "application/json", reply.headers)
            case Cut():
                self._begin(_lines(self.model.events(body, Say(reply.text))[:-2]))
            case Hang():
                self._begin(_lines(self.model.events(body, Say(""))[:1]))
                self.model.over.wait()
            case Stream():
                self._send(200, _lines(reply.events), "text/event-stream")
            case _ if body.get("stream") or self.model.streams:
                self._send(200, _lines(self.model.events(body, reply)), "text/event-stream")
            case _:
                whole = self.model.whole(body, reply)
                self._send(200, json.dumps(whole).encode(), "application/json")

    def _begin(self, data: bytes) -> None:
        """Send the beginning of a stream that has no end; the connection ends with this answer."""
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        # It promises more than it holds, so that its end is no end of the answer.
        self.send_header("Content-Length", str(len(data) + 1_000))
        self.end_headers()
        self.wfile.write(data)
        self.wfile.flush()

    def _body(self) -> bytes:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        match self.headers.get("Content-Encoding"):
            case "gzip":
                return gzip.decompress(raw)
            case "deflate":
                return zlib.decompress(raw)
            case _:
                return raw

    def _send(
        self, status: int, body: bytes, kind: str, more: Sequence[tuple[str, str]] = ()
    ) -> None:
        self.send_response(status)
        for name, value in more:
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _lines(events: Sequence[Json]) -> bytes:
    return "".join(f"{_kind(e)}data: {json.dumps(e)}\n\n" for e in events).encode()


def _kind(event: Json) -> str:
    return f"event: {event['type']}\n" if "type" in event else ""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A host that hangs up in the middle is no business of the test."""


@contextmanager
def serving(model: ScriptedModel, host: str = "127.0.0.1") -> Generator[ScriptedModel, None, None]:
    """Serve the model on a free port, of loopback unless told otherwise; `model.url` is where."""
    handler = type("Handler", (_Handler,), {"model": model})
    with _Server((host, 0), handler) as server:
        model.url = f"http://{host}:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield model
        finally:
            model.over.set()
            server.shutdown()
            thread.join()
