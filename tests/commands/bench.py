"""A workspace with command tools, and a road to them without a client. Processes are real."""

import asyncio
import itertools
import json
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Raw

from fakes.events import MemoryEvents
from support.sources import command_specs, commands_provider
from support.workspace import Workspace
from switchboard.core.calls.call import Call, Outcome, TextBlock
from switchboard.core.calls.receipts import Receipt
from switchboard.core.catalog.tools import ToolSpec
from switchboard.core.catalog.visibility import Visibility
from switchboard.core.channels.channel import Ask, Input
from switchboard.core.faults import Fault
from switchboard.core.ports import Next
from switchboard.core.sessions import NO_OVERRIDES, Overrides, Session
from switchboard.daemon.board.guard import Guard
from switchboard.pipeline.order import build_road
from switchboard.providers.commands.provider import CommandsProvider
from switchboard.sandbox.sandbox import Sandbox
from switchboard.settings.load import load_settings
from switchboard.settings.sections import Settings
from switchkit.reaper_client import Reaper

Json = dict[str, Any]
PATIENCE = 60.0
PYTHON = [sys.executable, "-I", "-S", "-c"]


class MemoryChannel:
    """A client that remembers what it is told; it may stop reading."""

    session_id = holder = "session"
    declared = b"{}"
    meta = b""
    log_level = ""
    request_id = 1

    def __init__(self) -> None:
        self.receipt: Receipt | None = None
        self.logs: list[tuple[str, Json]] = []
        self.steps: list[Json] = []
        self.news = asyncio.Event()
        self._reads = asyncio.Event()
        self._reads.set()

    def hold(self, receipt: Receipt) -> None:
        self.receipt = receipt

    def report(self, done: float, total: float | None = None, message: str = "") -> None:
        assert total is None
        self.steps.append({"progress": done, "message": message})

    def progress(self, params: Raw) -> None:
        raise AssertionError(f"no command writes messages of the protocol: {bytes(params)!r}")

    def log(self, level: str, params: bytes) -> None:
        self.logs.append((level, json.loads(params)))
        self.news.set()

    def notify(self, method: str, params: bytes) -> None:
        raise AssertionError(f"no command knows such clients: {method} {params!r}")

    def visited(self, params: Raw) -> None:
        raise AssertionError(f"no command opens a page: {bytes(params)!r}")

    @property
    def is_pressed(self) -> bool:
        return not self._reads.is_set()

    async def relieved(self) -> None:
        await self._reads.wait()

    async def ask(self, wanted: Mapping[str, Input]) -> Mapping[str, Raw]:
        raise AssertionError(wanted)

    def ask_elsewhere(self, ask: Ask) -> None:
        raise AssertionError(ask)

    def stop_reading(self) -> None:
        self._reads.clear()

    def read_on(self) -> None:
        self._reads.set()

    def text(self, stream: str) -> str:
        """Give everything that it was told of a stream."""
        told = (message["data"] for _, message in self.logs)
        return "".join(data["text"] for data in told if data.get("stream") == stream)

    @property
    def ends(self) -> list[str]:
        return [m["data"]["event"] for _, m in self.logs if "event" in m["data"]]

    async def said(self, text: str, stream: str = "stdout") -> None:
        """Wait until a text has come."""
        async with asyncio.timeout(PATIENCE):
            while text not in self.text(stream):
                self.news.clear()
                await self.news.wait()


class Bench:
    """Writes the configuration, and calls what it declares."""

    def __init__(self, folder: Path) -> None:
        self.place = Workspace(folder)
        self.root = self.place.root
        self.env = self.place.env
        # Command tools are shown on a guarded surface only.
        self.place.config_toml("enable_mcp_server_surface = true\n", scope="home")
        self.events = MemoryEvents()
        self._ids = itertools.count(1)
        # For tools that ask about hosts.
        self.guard: Guard | None = None

    def write(self, name: str, command: list[str], *, scope: Any = "home", **more: Any) -> None:
        """Add a tool to the configuration of a scope."""
        first, *rest = map(str, command)
        lines = [f"[mcp.{name}]", f"command = {json.dumps(first)}", f"args = {json.dumps(rest)}"]
        lines += [f"{key} = {_toml(value)}" for key, value in more.items()]
        folder = self.place.home if scope == "home" else self.place.settings
        with (folder / "config.toml").open("a") as file:
            file.write("\n".join([*lines, "", ""]))

    def python(self, name: str, program: str, *items: str, **more: Any) -> None:
        """Add a tool that is a Python program."""
        self.write(name, [*PYTHON, program, *items], **more)

    def settings(self) -> Settings:
        return load_settings(workspace=str(self.root), environ=self.env)

    def specs(self) -> dict[str, ToolSpec]:
        return command_specs(self.settings(), self.env)

    def told(self, name: str, overrides: Overrides = NO_OVERRIDES) -> Json:
        """Give what a session is told of a tool."""
        particulars = self.specs()[name].particulars
        assert particulars is not None
        return particulars(self.session(overrides))

    def session(self, overrides: Overrides = NO_OVERRIDES) -> Session:
        return Session(id="session", via="stdio", workspace=str(self.root), overrides=overrides)

    def a_call(
        self,
        name: str,
        arguments: Json | bytes | None = None,
        *,
        channel: MemoryChannel | None = None,
        overrides: Overrides = NO_OVERRIDES,
        client_timeout_s: float | None = None,
    ) -> Call:
        raw = arguments if isinstance(arguments, bytes) else msgspec.json.encode(arguments or {})
        return Call(
            id=f"call-{next(self._ids)}",
            session=self.session(overrides),
            tool=self.specs()[name],
            arguments=Raw(raw),
            channel=channel,
            client_timeout_s=client_timeout_s,
        )

    @asynccontextmanager
    async def road(
        self, sandbox: Sandbox | None = None
    ) -> AsyncGenerator[tuple[Next, CommandsProvider]]:
        """The gates, without a question and without a log, and what is behind them."""
        reaper = Reaper()
        try:
            provider = commands_provider(
                self.settings(), self.env, reaper, self.events, sandbox, guard=self.guard
            )
            yield build_road({provider.key: provider}, Visibility(), self.events), provider
        finally:
            await asyncio.to_thread(reaper.close)

    async def call(self, name: str, arguments: Json | bytes | None = None, **more: Any) -> Outcome:
        async with asyncio.timeout(PATIENCE), self.road() as (road, _):
            return await road(self.a_call(name, arguments, **more))

    async def refused(self, name: str, arguments: Json | bytes | None = None, **more: Any) -> Fault:
        """Give the fault of a call that has to fail."""
        try:
            outcome = await self.call(name, arguments, **more)
        except Fault as fault:
            return fault
        raise AssertionError(text_of(outcome))


def text_of(outcome: Outcome) -> str:
    return "\n".join(block.text for block in outcome.blocks if isinstance(block, TextBlock))


def json_of(outcome: Outcome) -> Any:
    """Give what a tool printed, as JSON."""
    assert not outcome.is_error, text_of(outcome)
    return json.loads(text_of(outcome))


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        members = cast("Json", value).items()
        return (
            "{ " + ", ".join(f"{json.dumps(key)} = {_toml(each)}" for key, each in members) + " }"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, cast("list[Any]", value))) + "]"
    return json.dumps(value)
