"""A registry on loopback with a few packages: small servers, written for plain Node."""

import base64
import hashlib
import io
import json
import ssl
import tarfile
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support.workspace import CHILDREN

NAME, VERSION = "hello-mcp", "1.0.0"
# It asks for a part of Node that no version has, as a server does that is for a later one.
TOO_NEW = "too-new-mcp"
_TOO_NEW = '#!/usr/bin/env node\nrequire("node:not-there-yet");\n'


class _Package:
    """What the registry says of a package, and what it is."""

    def __init__(self, name: str, program: str) -> None:
        self.about: dict[str, Any] = {"name": name, "version": VERSION, "bin": {name: "cli.cjs"}}
        made = io.BytesIO()
        with tarfile.open(fileobj=made, mode="w:gz") as archive:
            for file, text in (("package.json", json.dumps(self.about)), ("cli.cjs", program)):
                info = tarfile.TarInfo(f"package/{file}")
                info.size, info.mode = len(text), 0o755
                archive.addfile(info, io.BytesIO(text.encode()))
        self.archive = made.getvalue()
        digest = hashlib.sha512(self.archive).digest()
        self.integrity = "sha512-" + base64.b64encode(digest).decode()

    def told(self, registry: str) -> bytes:
        name = self.about["name"]
        dist = {"tarball": f"{registry}/{name}.tgz", "integrity": self.integrity}
        versions = {VERSION: {**self.about, "dist": dist}}
        tags = {"latest": VERSION}
        return json.dumps({"name": name, "dist-tags": tags, "versions": versions}).encode()


class NpmRegistry:
    """Where it listens, and what was asked for, in order."""

    def __init__(self, url: str, asked: list[str]) -> None:
        self.url = url
        self.asked = asked

    @property
    def downloads(self) -> int:
        """How many times the package itself was fetched."""
        return sum(path.endswith(".tgz") for path in self.asked)


@contextmanager
def npm_registry(tls: ssl.SSLContext | None = None) -> Generator[NpmRegistry]:
    """A registry for as long as the block lasts."""
    hello = (CHILDREN / "hello_child.cjs").read_text("utf-8")
    packages = {NAME: _Package(NAME, hello), TOO_NEW: _Package(TOO_NEW, _TOO_NEW)}
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            package = packages.get(self.path.removeprefix("/").removesuffix(".tgz"))
            if package is None:
                self._answer(b'{"error":"Not found"}', "application/json", status=404)
            elif self.path.endswith(".tgz"):
                self._answer(package.archive, "application/octet-stream")
            else:
                self._answer(package.told(url), "application/json")

        def do_POST(self) -> None:
            self._answer(b"{}", "application/json")

        def _answer(self, body: bytes, kind: str, status: int = 200) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its own name
            """Tests look at `asked`."""

    class Listener(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """Clients leave that do not believe our certificate."""

    with Listener(("127.0.0.1", 0), Handler) as listener:
        url = f"{'https' if tls else 'http'}://127.0.0.1:{listener.server_address[1]}"
        if tls is not None:
            listener.socket = tls.wrap_socket(
                listener.socket, server_side=True, do_handshake_on_connect=False
            )
        thread = threading.Thread(target=listener.serve_forever, daemon=True)
        thread.start()
        try:
            yield NpmRegistry(url, asked)
        finally:
            listener.shutdown()
            thread.join()
