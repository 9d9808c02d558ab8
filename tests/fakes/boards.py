"""A whole board over real children, without a client: settings in, outcomes out."""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Raw
from msgspec.structs import replace

from fakes.calls import a_session
from fakes.events import MemoryEvents
from support.processes import wait_until_none_mention
from support.workspace import child_command
from switchboard.children.exposure import SuiteSettings
from switchboard.children.schema import ServerEntry
from switchboard.core.bus import EventBus
from switchboard.core.calls.call import Call, Outcome, TextBlock
from switchboard.core.faults import Fault
from switchboard.daemon.board.runtime import Runtime, running
from switchboard.settings.freeze import suite_overrides
from switchboard.settings.sections import Settings

ENVIRON = {"PATH": "/usr/bin:/bin"}


def echo_server(name: str = "echo", *, script: str = "echo_child", **more: Any) -> ServerEntry:
    """Give a well-behaved child under a name."""
    return server(name, child_command(script, name), **more)


def misbehaving_server(habit: str, *args: str, **more: Any) -> ServerEntry:
    return server(habit, child_command("misbehaving_child", habit, *args), **more)


def server(name: str, command: list[str], **more: Any) -> ServerEntry:
    return ServerEntry(
        name=name, transport="stdio", command=command[0], args=tuple(command[1:]), **more
    )


class Desk(NamedTuple):
    """Calls tools of the current board."""

    runtime: Runtime
    events: MemoryEvents

    async def call(self, tool: str, arguments: Any) -> Outcome:
        text = arguments if isinstance(arguments, bytes) else json.dumps(arguments).encode()
        with self.runtime.boards.lease() as board:
            spec = board.catalog.tools[tool]
            call = Call(id="c-1", session=a_session(), tool=spec, arguments=Raw(text))
            return await board.pipeline(call)

    async def subtool(self, suite: str, name: str, /, **args: Any) -> Outcome:
        return await self.call(suite, {"action": "call", "subtool": name, "args": args})

    async def introspect(self, suite: str, **more: Any) -> dict[str, Any]:
        """Introspect, and give the subtools by name."""
        outcome = await self.call(suite, {"action": "introspect", **more})
        [block] = outcome.blocks
        assert isinstance(block, TextBlock)
        return {tool["name"]: tool for tool in json.loads(block.text)["tools"]}

    async def fault(self, suite: str, **arguments: Any) -> Fault:
        """Make a call that has to fail."""
        try:
            await self.call(suite, arguments)
        except Fault as fault:
            return fault
        raise AssertionError("the call did not fail")

    @property
    def names(self) -> list[str]:
        return list(self.runtime.boards.current.catalog.tools)


def settings_for(
    folder: Path, *servers: ServerEntry, suites: dict[str, SuiteSettings] | None = None, **more: Any
) -> Settings:
    """Settings without the gate, unless `more` says otherwise: it has tests of its own."""
    suites = suites or {}
    more = {"is_guarded": False, **more}
    placed = [
        replace(entry, cwd=entry.cwd or str(folder), **suite_overrides(suites.get(entry.name)))
        for entry in servers
    ]
    return Settings(
        workspace=str(folder), home=str(folder), servers=tuple(placed), suites=suites, **more
    )


@asynccontextmanager
async def serving(
    folder: Path,
    *servers: ServerEntry,
    suites: dict[str, SuiteSettings] | None = None,
    environ: Mapping[str, str] = ENVIRON,
    **more: Any,
) -> AsyncGenerator[Desk]:
    """Put up a board; afterwards none of its processes may be left."""
    events = MemoryEvents()
    settings = settings_for(folder, *servers, suites=suites, **more)
    async with running(settings, environ=environ, events=EventBus(events.emit)) as runtime:
        yield Desk(runtime, events)
    wait_until_none_mention(str(folder))


def text_of(outcome: Outcome) -> str:
    first = outcome.blocks[0]
    assert isinstance(first, TextBlock)
    return first.text


def json_of(outcome: Outcome) -> Any:
    return json.loads(text_of(outcome))
