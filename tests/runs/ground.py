"""What tests of runs stand on: specs, and a worker that does what a test says."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager
from typing import Any

import msgspec

from switchboard.engines.events import EngineEvent, Opened, TurnEnded
from switchboard.runs.ports import Asking, RunStore
from switchboard.runs.run import Run, RunSpec, new_run_id

PATIENCE = 60.0
_SPEC = RunSpec(
    tool="agent_tidy",
    agent="tidy",
    engine="codex",
    task="tidy up",
    cwd="/w",
    workspace="/w",
    fingerprint="f1",
)


def a_spec(**changes: Any) -> RunSpec:
    return msgspec.structs.replace(_SPEC, **changes)


def a_run(**changes: Any) -> Run:
    spec = a_spec(**{key: changes.pop(key) for key in tuple(changes) if hasattr(_SPEC, key)})
    known: dict[str, Any] = {"id": new_run_id(), "state": "queued", "created_at": 1000.0}
    return Run(spec=spec, **(known | changes))


async def known(store: RunStore, run_id: str) -> Run:
    run = await store.get(run_id)
    assert run is not None
    return run


class FakeOwners:
    """Processes that are gone when a test says so. Each store has one; they share who is gone."""

    def __init__(self, name: str = "us", gone: set[str] | None = None) -> None:
        self.name = name
        self.gone: set[str] = set() if gone is None else gone

    def own(self) -> str:
        return self.name

    def is_gone(self, owner: str, heard_at: float = 0.0, /) -> bool:
        del heard_at
        return owner in self.gone


class ScriptedWork:
    """Work whose events a test puts in."""

    def __init__(self, run: Run, asking: Asking) -> None:
        self.run = run
        self._asking = asking
        self._events: asyncio.Queue[str] = asyncio.Queue()
        self.steered: list[str] = []
        self.is_stubborn = False
        self.was_cancelled = False
        self.is_closed = False
        self.pid = 0

    def say(self, event: EngineEvent) -> None:
        self._events.put_nowait(msgspec.json.encode(event).decode())

    def say_raw(self, line: str) -> None:
        self._events.put_nowait(line)

    def finish(self, text: str = "done") -> None:
        self.say(TurnEnded(status="completed", text=text))

    def asking(self, approval_id: str) -> AbstractContextManager[None]:
        return self._asking(approval_id)

    # The port

    async def events(self) -> AsyncIterator[str]:
        while True:
            line = await self._events.get()
            yield line
            if '"turn-ended"' in line:
                return

    async def steer(self, text: str, /) -> None:
        self.steered.append(text)

    async def cancel(self) -> None:
        self.was_cancelled = True
        if not self.is_stubborn:
            self.say(TurnEnded(status="interrupted"))

    async def aclose(self) -> None:
        self.is_closed = True


class ScriptedWorker:
    """The `Worker` of a workspace whose work a test does."""

    def __init__(self, workspace: str = "/w", fingerprint: str = "f1") -> None:
        self.workspace = workspace
        self.fingerprint = fingerprint
        self.begun: asyncio.Queue[ScriptedWork] = asyncio.Queue()
        self.works: list[ScriptedWork] = []

    def takes(self, spec: RunSpec, /) -> bool:
        return spec.fingerprint == self.fingerprint

    def work(self, run: Run, asking: Asking, /) -> ScriptedWork:
        work = ScriptedWork(run, asking)
        self.works.append(work)
        self.begun.put_nowait(work)
        return work

    async def next(self) -> ScriptedWork:
        async with asyncio.timeout(PATIENCE):
            return await self.begun.get()


OPENED = Opened(thread_id="t-1", model="m-1")
