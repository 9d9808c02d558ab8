"""A gate with everything real behind it but the tools: what they would launch is made up."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw
from msgspec.structs import replace

from fakes.calls import FakeProvider, a_session, raw
from fakes.events import MemoryEvents
from switchboard.approvals.gate import ApprovalChannel, ApprovalGate
from switchboard.approvals.lasting.rules import LastingRules
from switchboard.approvals.pins import Pins
from switchboard.approvals.queue import ApprovalQueue
from switchboard.approvals.queue_asker import QueueAsker
from switchboard.approvals.request import ApprovalRequests
from switchboard.approvals.store.owners import ProcessOwners
from switchboard.approvals.store.sqlite import SqliteApprovals
from switchboard.approvals.trail import ApprovalTrail
from switchboard.approvals.trust import TrustBook
from switchboard.core.calls.call import Call, Outcome
from switchboard.core.calls.launches import Launch
from switchboard.core.catalog.tools import Effects, ToolSpec
from switchboard.core.faults import Fault
from switchboard.core.principal import Principal
from switchboard.core.questions import Answer, Asker, Extent, Question, Verdict
from switchboard.core.sessions import Session
from switchboard.core.stores import AuditStore, Posted

PATIENCE = 10.0
READS = Effects(read_only=True)
WRITES = Effects(read_only=False)


def a_tool(
    name: str = "wipe",
    *,
    effects: Effects = WRITES,
    description: str = "Wipes everything.",
    schema: Any = None,
    title: str = "",
) -> ToolSpec:
    return ToolSpec(
        name=name,
        provider="fake",
        title=title,
        description=description,
        input_schema=raw(schema or {"type": "object"}),
        effects=effects,
    )


def a_launch(tool: ToolSpec | None = None, *, cwd: str = "/", **more: Any) -> Launch:
    fields: dict[str, Any] = {
        "server": "notes",
        "fingerprint": "f1",
        "runs": "node notes.js",
        "cwd": cwd,
        **more,
    }
    return Launch(tool=tool or a_tool(), **fields)


def a_command(**more: Any) -> Launch:
    """Give a command tool in a sandbox: the least that one can do."""
    tool = more.pop("tool", None) or a_tool("lint", effects=Effects())
    quiet: dict[str, Any] = {"is_foreign": False, "sandbox": "default", "network": False}
    return a_launch(tool, **{**quiet, **more})


class ScriptedAsker:
    """Answers what it is told to, and remembers what it was asked."""

    def __init__(self, verdict: Verdict = "approved", extent: Extent = "once") -> None:
        self.verdict: Verdict = verdict
        self.extent: Extent = extent
        self.asked: list[Question] = []

    async def ask(self, question: Question, /) -> Answer:
        self.asked.append(question)
        return Answer(verdict=self.verdict, extent=self.extent, by="client", at=time.time())


class Ground:
    """One process with a gate, over the desk of a home that others may share."""

    def __init__(
        self,
        home: Path,
        launch: Launch | None = None,
        *,
        fallback: Asker | None = None,
        hold_s: float | None = None,
        channel: ApprovalChannel = "any",
        audit: AuditStore | None = None,
        by_value: Mapping[str, str] | None = None,
        user: Principal | None = None,
        user_home: str = "",
        allow: Sequence[str] = (),
        code_of: Callable[[Launch], str | None] = lambda _: "",
    ) -> None:
        # What every call would launch, as long as nobody changes it; `None` runs nothing.
        self.launch: Launch | None = launch if launch is not None else a_launch(cwd=str(home))
        self.events = MemoryEvents()
        self.store = SqliteApprovals(str(home))
        self.queue = ApprovalQueue(self.store, ProcessOwners())
        self.pins = Pins(self.store)
        self.trust = TrustBook()
        secrets = by_value or {}

        def hide(text: str) -> str:
            for value, name in secrets.items():
                text = text.replace(value, f"<{name}>")
            return text

        requests = ApprovalRequests(
            self.launch_of, self.trust, by_value=hide, user=user, user_home=user_home
        )
        if hold_s is not None:
            fallback = QueueAsker(self.queue, hold_s=hold_s)
        self.gate = ApprovalGate(
            requests,
            self.trust,
            self.queue,
            self.pins,
            ApprovalTrail(self.events, audit),
            rules=LastingRules(self.store, allow, code_of),
            fallback=fallback,
            channel=channel,
        )
        self.provider = FakeProvider()

    def a_call(
        self,
        arguments: Any = None,
        *,
        session: Session | None = None,
        asker: Asker | None = None,
        **more: Any,
    ) -> Call:
        launch = self.launch
        assert launch is not None
        return Call(
            id="call-1",
            session=session or a_session(),
            tool=launch.tool,
            arguments=(
                Raw(arguments) if isinstance(arguments, bytes) else raw(arguments or {"path": "a"})
            ),
            launch=launch,
            asker=asker,
            **more,
        )

    async def run(self, arguments: Any = None, **more: Any) -> Outcome:
        """Send a call through the gate."""
        return await self.gate(self.a_call(arguments, **more), self.provider.invoke)

    async def launch_of(self, call: Call) -> Launch | None:
        """Say what a call would launch as things are now."""
        del call
        return self.launch

    def change(self, **fields: Any) -> None:
        """Let everything after this launch something else."""
        assert self.launch is not None
        self.launch = replace(self.launch, **fields)

    @property
    def ran(self) -> int:
        """How many calls got through."""
        return len(self.provider.invoked)

    async def waiting(self) -> list[Posted]:
        return await self.store.waiting()

    async def until_asked(self) -> list[Posted]:
        """Wait until a question is in the queue, whoever put it there."""
        async with asyncio.timeout(PATIENCE):
            with self.store.subscribe() as news:
                while not (waiting := await self.waiting()):
                    await news.changed(PATIENCE)
        return waiting


def decision(verdict: Verdict = "approved", extent: Extent = "once", by: str = "cli") -> Answer:
    return Answer(verdict=verdict, extent=extent, by=by, at=time.time())


async def refusal(ground: Ground, arguments: Any = None, **more: Any) -> Fault:
    with pytest.raises(Fault) as caught:
        await ground.run(arguments, **more)
    return caught.value


async def reasons(calls: "list[asyncio.Task[Any]]") -> Counter[str]:
    """Wait for calls, and count how they ended."""
    done = await asyncio.gather(*calls, return_exceptions=True)
    return Counter(
        each.reason if isinstance(each, Fault) else "ran"
        for each in done
        if not isinstance(each, asyncio.CancelledError)
    )
