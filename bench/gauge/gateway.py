"""One started row: greeting it, listing its tools, calling through it."""

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from .event_stream import EventLink
from .footprint import gateway_processes
from .link import Json, Link, LinkLostError, encode
from .pipe import PipeLink
from .processes import Programs
from .row import CHILD, Row, Site, Wanted
from .web import Address, WebLink

HANDSHAKE = "2025-11-25"
MODERN = "2026-07-28"
PAUSE_SECONDS = 0.004
START_SECONDS = 30.0
ANSWER_SECONDS = 30.0
_CLIENT = {"name": "bench", "version": "1"}
_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": _CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def echo_children(count: int) -> dict[str, Json]:
    """So many echo children, as entries of an `mcpServers` file."""
    return {f"c{number}": {"command": CHILD[0], "args": [CHILD[1]]} for number in range(count)}


class Gateway:
    """A row with children, from its start to its end."""

    def __init__(
        self, row: Row, children: Mapping[str, Json], *, folder: Path, programs: Programs
    ) -> None:
        self.row = row
        self.started = 0.0
        self._programs = programs
        self._count = 0
        self._link: Link | None = None
        self._program: subprocess.Popen[bytes] | None = None
        self._site = Site(folder=folder, port=_free_port(), children=children)
        for each in (folder, self._site.home):
            shutil.rmtree(each, ignore_errors=True)
        folder.mkdir(parents=True)
        self._site.temporary.mkdir(parents=True)
        self._site.config.write_text(json.dumps({"mcpServers": dict(children)}), "utf-8")

    @property
    def pid(self) -> int:
        assert self._program is not None
        return self._program.pid

    @property
    def link(self) -> Link:
        assert self._link is not None
        return self._link

    def since_start(self) -> float:
        """Seconds since the program was spawned."""
        return time.perf_counter() - self.started

    def start(self) -> None:
        """Spawn the program and wait for the answer to the greeting. Raises LinkLostError."""
        row, site = self.row, self._site
        row.prepare(site)
        environ = {
            "HOME": str(site.home),
            "LANG": "C.UTF-8",
            "PATH": os.environ["PATH"],
            "TMPDIR": str(site.temporary),
            **row.environ(site),
        }
        command = row.command(site)
        self.started = time.perf_counter()
        self._program = self._programs.start(
            command, cwd=site.folder, environ=environ, pipes=row.front == "stdio"
        )
        self._link = self._linked(self._program)
        self._greet()

    def _linked(self, program: subprocess.Popen[bytes]) -> Link:
        if self.row.front == "stdio":
            return PipeLink(program)
        address = Address(self._site.port, self.row.path, self.row.headers)
        while True:
            if program.poll() is not None:
                raise LinkLostError(f"it ended with {program.returncode}")
            if self.since_start() > START_SECONDS:
                raise LinkLostError("it does not listen")
            if address.listens():
                if self.row.front == "http":
                    return WebLink(address)
                try:
                    return EventLink(address, START_SECONDS)
                except LinkLostError:
                    if self.since_start() > START_SECONDS:
                        raise
            time.sleep(PAUSE_SECONDS)

    def _greet(self) -> None:
        method, params = "server/discover", {}
        if self.row.modern:
            self.link.agreed(MODERN)
        else:
            method = "initialize"
            params = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": _CLIENT}
        while "result" not in (answer := self.ask(method, params, seconds=START_SECONDS)):
            # A server that listens may not be ready for its first request.
            if self.row.front == "stdio" or self.since_start() > START_SECONDS:
                raise LinkLostError(f"it refuses {method}: {encode(answer)[:200]}")
            time.sleep(PAUSE_SECONDS)

        self.greeted = self.since_start()
        if not self.row.modern:
            self.link.agreed(answer["result"]["protocolVersion"])
            note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            self.link.send(encode(note).encode(), method="notifications/initialized")
            self.link.settle()

    def write(self, method: str, params: Json) -> tuple[int, bytes]:
        """Write the next request; gives its id and its bytes."""
        self._count += 1
        if self.row.modern:
            params = {**params, "_meta": _META}
        request = {"jsonrpc": "2.0", "id": self._count, "method": method, "params": params}
        return self._count, encode(request).encode()

    def ask(self, method: str, params: Json, *, seconds: float = ANSWER_SECONDS) -> Json:
        """Send one request and wait for its answer. Raises LinkLostError."""
        ident, body = self.write(method, params)
        self.link.send(body, method=method, name=params.get("name"))
        end = time.perf_counter() + seconds
        while True:
            answer = self.link.receive(end - time.perf_counter())
            if answer.get("id") in {ident, None}:
                self.link.settle()
                return answer

    def tools(self) -> list[Json]:
        """Every page of the listing. Raises LinkLostError."""
        found: list[Json] = []
        params: Json = {}
        while True:
            answer = self.ask("tools/list", params)
            if "result" not in answer:
                raise LinkLostError(f"it refuses tools/list: {encode(answer)[:200]}")
            found += answer["result"]["tools"]
            if not answer["result"].get("nextCursor"):
                return found
            params = {"cursor": answer["result"]["nextCursor"]}

    def call_of(self, tool: str, arguments: Json, *, child: str = "c0") -> Json:
        """The parameters of a `tools/call` that reach the tool of the child through this row."""
        alone = len(self._site.children) == 1
        return self.row.put(Wanted(child, tool, arguments, alone))

    def echoes(self, text: str, *, child: str = "c0", seconds: float = ANSWER_SECONDS) -> bool:
        """Call `echo` once and say whether the text came back."""
        params = self.call_of("echo", {"message": text}, child=child)
        return holds(self.ask("tools/call", params, seconds=seconds), text)

    def processes(self) -> list[int]:
        """The processes of the row; the children that it relays to are not among them."""
        child = () if self.row.kind == "base" else CHILD
        return gateway_processes(self.pid, child)

    def end(self, *, patience: float = 1.0) -> None:
        """End the program, its children and the link to it."""
        if self._link is not None:
            self._link.close()
        if self._program is not None:
            self._programs.end(self._program, patience=patience)


def holds(answer: Json, text: str) -> bool:
    """Say whether an answer is a good result with the text in it."""
    result = answer.get("result")
    if not result or result.get("isError"):
        return False
    return any(text in part.get("text", "") for part in result.get("content", ()))


def _free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]
