"""Receivers of notifications on loopback, and a home that names them."""

import asyncio
import json
import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from support.http_serving import served
from support.workspace import Json, Workspace

PATIENCE = 20.0
GUARDED = """
enable_mcp_server_surface = true
[mcp.writes]
command = "touch"
args = ["touched"]
side_effects = ["filesystem-write"]
[mcp.says]
command = "echo"
args = ["{text}"]
side_effects = ["filesystem-write"]
input_schema = { type = "object", properties = { text = { type = "string", x-path = false } } }
"""


class Received:
    """What came in, in the order in which it came."""

    def __init__(self) -> None:
        self.messages: list[tuple[dict[str, str], Json]] = []
        self._came = threading.Condition()

    def put(self, headers: dict[str, str], body: Json) -> None:
        with self._came:
            self.messages.append((headers, body))
            self._came.notify_all()

    async def wait(self, count: int = 1) -> Json:
        """The message of that number."""

        def came() -> bool:
            with self._came:
                return self._came.wait_for(lambda: len(self.messages) >= count, PATIENCE)

        assert await asyncio.to_thread(came), "no message came"
        return self.messages[count - 1][1]


@contextmanager
def receiver(
    status: int = 200, hold: threading.Event | None = None
) -> Generator[tuple[str, Received]]:
    """A server that notes what is posted to it. With `hold` it answers when that is set."""
    received = Received()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = int(self.headers["content-length"])
            body = json.loads(self.rfile.read(size))
            headers = {name.lower(): value for name, value in self.headers.items()}
            received.put({**headers, ":path": self.path}, body)
            if hold is not None:
                hold.wait(60)
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base says so
            """Nothing."""

    with served(Handler) as url:
        try:
            yield url, received
        finally:
            if hold is not None:
                hold.set()


def told_by(workspace: Workspace, *ways: str, more: str = "") -> None:
    """Let the home name these ways."""
    section = f"[approvals]\nnotify = {json.dumps(ways)}\n{more}\n"
    workspace.config_toml(GUARDED + section, scope="home")


def program(folder: Path, name: str, script: str) -> Path:
    """A program of the user's."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    path.chmod(0o755)
    return path


def first_in_path(workspace: Workspace, folder: Path) -> None:
    workspace.env["PATH"] = f"{folder}{os.pathsep}{workspace.env['PATH']}"
