"""A double of the KV engine, version 2, of HashiCorp Vault and OpenBao.

It was written from the documentation of their HTTP API, not from the servers: what it does was not
compared with a real one. It can be sealed, busy, slow and strict.
"""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import unquote, urlsplit

from support.http_serving import served

TOKEN = "hvs.double-of-a-token"


class KvServer:
    """Its entries, and how it behaves."""

    def __init__(self) -> None:
        # By path: every version, oldest first; None for one that was deleted.
        self.versions: dict[str, list[dict[str, str] | None]] = {}
        self.times: dict[str, list[str]] = {}
        self.mount = "secret"
        self.token = TOKEN
        self.is_sealed = False
        self.is_busy = False
        # What it answers in place of everything else.
        self.says: tuple[int, str] | None = None
        self.hangs = threading.Event()
        self.hangs.set()
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.address = ""
        self.lock = threading.Lock()

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        """Act on a request that was let in."""
        mount, _, rest = path.partition("/")
        kind, _, name = rest.partition("/")
        if mount != self.mount or kind not in ("data", "metadata"):
            return 404, {"errors": [f"no handler for route {path!r}. route entry not found."]}
        with self.lock:
            if kind == "data":
                return self._data(method, name, body)
            return self._metadata(method, name.rstrip("/"))

    def _data(self, method: str, name: str, body: bytes) -> tuple[int, Any]:
        versions = self.versions.get(name, [])
        if method in ("POST", "PUT"):
            sent = json.loads(body)
            cas = sent.get("options", {}).get("cas")
            if cas is not None and cas != len(versions):
                return 400, {"errors": ["check-and-set parameter did not match"]}
            self.versions[name] = [*versions, sent["data"]]
            self.times.setdefault(name, []).append(_now())
            return 200, {"data": self._about(name, len(versions))}
        if method == "GET":
            if not versions:
                return 404, {"errors": []}
            last = versions[-1]
            about = self._about(name, len(versions) - 1)
            return (404 if last is None else 200), {"data": {"data": last, "metadata": about}}
        if method == "DELETE":
            if versions:
                self.versions[name] = [*versions[:-1], None]
            return 204, None
        return 405, {"errors": ["unsupported operation"]}

    def _metadata(self, method: str, name: str) -> tuple[int, Any]:
        if method == "LIST":
            start = f"{name}/" if name else ""
            rests = [each.removeprefix(start) for each in self.versions if each.startswith(start)]
            keys = sorted({each.split("/")[0] + ("/" if "/" in each else "") for each in rests})
            return (200, {"data": {"keys": keys}}) if keys else (404, {"errors": []})
        if name not in self.versions:
            return (204, None) if method == "DELETE" else (404, {"errors": []})
        if method == "DELETE":
            del self.versions[name], self.times[name]
            return 204, None
        count = len(self.versions[name])
        return 200, {
            "data": {
                "created_time": self.times[name][0],
                "updated_time": self.times[name][-1],
                "current_version": count,
                "oldest_version": 1,
                "versions": {str(each + 1): self._about(name, each) for each in range(count)},
            }
        }

    def _about(self, name: str, index: int) -> dict[str, Any]:
        is_deleted = self.versions[name][index] is None
        return {
            "created_time": self.times[name][index],
            "deletion_time": _now() if is_deleted else "",
            "destroyed": False,
            "version": index + 1,
        }


def _now() -> str:
    # As the servers write it: with nanoseconds.
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f000Z")


@contextmanager
def kv_server() -> Generator[KvServer]:
    """Serve one on loopback."""
    server = KvServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _any(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            body = self.rfile.read(length)
            path = unquote(urlsplit(self.path).path).removeprefix("/v1/")
            headers = {name.lower(): value for name, value in self.headers.items()}
            server.requests.append((self.command, path, headers))
            server.hangs.wait(60)
            if server.says is not None:
                self._send(*server.says)
                return
            if server.is_sealed:
                answer: tuple[int, Any] = (503, {"errors": ["Vault is sealed"]})
            elif server.is_busy:
                answer = (429, {"errors": ["rate limit quota exceeded"]})
            elif headers.get("x-vault-token") != server.token:
                answer = (403, {"errors": ["permission denied"]})
            else:
                answer = server.answer(self.command, path, body)
            status, value = answer
            self._send(status, "" if value is None else json.dumps(value))

        do_GET = do_POST = do_PUT = do_DELETE = do_LIST = _any  # noqa: N815 - the names of the base

        def _send(self, status: int, text: str) -> None:
            data = text.encode()
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", text)
                data = b""
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its own name
            pass

    with served(Handler) as server.address:
        try:
            yield server
        finally:
            server.hangs.set()
