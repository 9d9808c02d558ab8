"""A registry on loopback with one package: a small server, written for plain Node."""

import base64
import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support.workspace import CHILDREN

NAME, VERSION = "hello-mcp", "1.0.0"


def _archive(about: dict[str, Any]) -> bytes:
    program = (CHILDREN / "hello_child.cjs").read_text("utf-8")
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, text in (("package.json", json.dumps(about)), ("cli.cjs", program)):
            info = tarfile.TarInfo(f"package/{name}")
            info.size, info.mode = len(text), 0o755
            archive.addfile(info, io.BytesIO(text.encode()))
    return made.getvalue()


class NpmRegistry:
    """Where it listens, and what was asked for, in order."""

    def __init__(self, port: int, asked: list[str]) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.asked = asked

    @property
    def downloads(self) -> int:
        """How many times the package itself was fetched."""
        return sum(path.endswith(".tgz") for path in self.asked)


@contextmanager
def npm_registry() -> Generator[NpmRegistry]:
    """A registry for as long as the block lasts."""
    about: dict[str, Any] = {"name": NAME, "version": VERSION, "bin": {NAME: "cli.cjs"}}
    archive = _archive(about)
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(archive).digest()).decode()
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            if self.path.endswith(".tgz"):
                self._answer(archive, "application/octet-stream")
                return
            at = f"http://127.0.0.1:{listener.server_address[1]}/{NAME}.tgz"
            version = {**about, "dist": {"tarball": at, "integrity": integrity}}
            known = {"name": NAME, "dist-tags": {"latest": VERSION}, "versions": {VERSION: version}}
            self._answer(json.dumps(known).encode(), "application/json")

        def do_POST(self) -> None:
            self._answer(b"{}", "application/json")

        def _answer(self, body: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its own name
            """Tests look at `asked`."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listener:
        thread = threading.Thread(target=listener.serve_forever, daemon=True)
        thread.start()
        try:
            yield NpmRegistry(listener.server_address[1], asked)
        finally:
            listener.shutdown()
            thread.join()
