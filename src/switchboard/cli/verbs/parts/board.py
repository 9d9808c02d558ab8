"""A board that runs for one command, called through the same gates as a client's calls."""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from switchboard import __version__
from switchboard.core.bus import EventBus, Subscriber
from switchboard.core.calls import Call, Outcome, TextBlock
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.questions import Asker
from switchboard.core.sessions import Session
from switchboard.core.tools import ToolSpec
from switchboard.daemon.runtime import Runtime, running
from switchboard.settings.sections import Settings
from switchboard.settings.validate import shown_name
from switchkit.cli.usage import UsageError

T = TypeVar("T")


class Caller:
    """The command line as a client of a board in this process."""

    def __init__(self, runtime: Runtime, settings: Settings, asker: Asker | None) -> None:
        self._boards = runtime.boards
        self._asker = asker
        self._calls = 0
        self._servers = {
            shown_name(entry, settings.suites): entry.name for entry in settings.servers
        }
        # The id of the latest call, by which the audit log knows it.
        self.call_id = ""
        self._session = Session(
            # Of this command alone: two of them are two in the log, also at the same time.
            id=os.urandom(5).hex(),
            via="cli",
            workspace=settings.workspace,
            cwd=os.getcwd(),  # noqa: PTH109 - a string is wanted
            client=f"switchboard {__version__}",
            started_at=time.time(),
        )

    @property
    def suites(self) -> Mapping[str, ToolSpec]:
        """The tools that stand for a server each."""
        tools = self._boards.current.catalog.tools
        return {name: spec for name, spec in tools.items() if name in self._servers}

    @property
    def tools(self) -> Mapping[str, ToolSpec]:
        """The tools that stand for themselves: command tools, and those of the yard."""
        tools = self._boards.current.catalog.tools
        return {name: spec for name, spec in tools.items() if name not in self._servers}

    async def call(self, tool: str, arguments: Mapping[str, Any] | Raw) -> Outcome:
        """Call one tool. Raises a fault."""
        with self._boards.lease() as board:
            spec = board.catalog.tools.get(tool)
            if spec is None:
                raise Fault(
                    FaultCode.NOT_FOUND,
                    "unknown-tool",
                    f"the tool `{tool}` is not shown to clients",
                    hint="switchboard config explain tools.deny",
                )
            self._calls += 1
            self.call_id = f"{self._session.id}-{self._calls}"
            call = Call(
                id=self.call_id,
                session=self._session,
                tool=spec,
                arguments=Raw(msgspec.json.encode(arguments)),
                asker=self._asker,
            )
            return await board.pipeline(call)


@asynccontextmanager
async def calling(
    settings: Settings,
    environ: Mapping[str, str],
    *,
    asker: Asker | None = None,
    hears: Subscriber | None = None,
) -> AsyncGenerator[Caller]:
    """A caller whose children end with it.

    Every server is a suite here, also one that shows its tools to clients under their own names.
    """
    servers = tuple(replace(entry, expose="suite") for entry in settings.servers)
    settings = replace(settings, servers=servers)
    events = EventBus(*((hears,) if hears else ()))
    async with running(settings, environ=environ, events=events) as runtime:
        yield Caller(runtime, settings, asker)


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run on a loop of its own. Ctrl-C cancels the work, which ends its children."""
    return asyncio.run(work)


def refuse_subtool(tool: str, subtool: str) -> None:
    """A tool that is in no suite has no tools of its own."""
    if subtool:
        raise UsageError(
            f"`{tool}` is no suite, so it has no tool `{subtool}`",
            f'switchboard call {tool} --args \'{{"name": "value"}}\'',
        )


def text_of(outcome: Outcome) -> str:
    """The text that Switchboard wrote into an outcome."""
    return "".join(block.text for block in outcome.blocks if isinstance(block, TextBlock))
