"""A process that holds runs, to be killed by tests: `holder.py HOME WORKSPACE ON_CRASH COUNT`.

Its worker starts a real process for each run, as engines are started, and writes down each start.
Says on stdout which runs it has, then each thing that happens.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator

import msgspec

from switchboard.core.bus import EventBus
from switchboard.daemon.board.run_service import open_runs
from switchboard.engines.events import AgentMessage, Opened, TurnEnded
from switchboard.engines.process import EngineProcess
from switchboard.runs.limits import RunLimits
from switchboard.runs.ports import Asking
from switchboard.runs.run import OnCrash, Run, RunSpec
from switchkit.reaper_client import Reaper

# A program that says a line each moment. It has a child in a session of its own, and one that no
# parent, no session and no variable leads to, deaf to SIGTERM.
_ENGINE = """
import os, signal, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.setsid()
            os.execve("/bin/sh", ["sh", "-c", "sleep 600", sys.argv[2]], {})
        os._exit(0)
    time.sleep(600)
for number in range(int(sys.argv[1])):
    print('{"n": %d}' % number, flush=True)
    time.sleep(0.01)
print('{"done": true}', flush=True)
sys.stdin.read()
"""


def say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


class HeldWork:
    """One attempt: a process whose lines become events."""

    def __init__(self, run: Run, reaper: Reaper, folder: str) -> None:
        self.pid = 0
        self._run = run
        self._reaper = reaper
        self._folder = folder
        self._process: EngineProcess | None = None

    async def events(self) -> AsyncIterator[str]:
        # One mark for each start, which tests count.
        mark = f"{self._folder}/{self._run.id}.{self._run.attempts}.{os.getpid()}"
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
        self._process = await EngineProcess.start(
            (sys.executable, "-c", _ENGINE, "20", self._folder),
            cwd=self._folder,
            env={"PATH": os.defpath},
            reaper=self._reaper,
        )
        yield _json(Opened(thread_id=f"t-{self._run.id}"))
        while (line := await self._process.receive()) is not None and "done" not in line:
            yield _json(AgentMessage(text=str(line["n"])))
        yield _json(TurnEnded(status="completed", text="done"))

    async def steer(self, text: str, /) -> None:
        del text

    async def cancel(self) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            await process.end()


class HeldWorker:
    """Takes everything in its workspace."""

    def __init__(self, workspace: str, reaper: Reaper) -> None:
        self.workspace = workspace
        self._reaper = reaper

    def takes(self, spec: RunSpec, /) -> bool:
        return spec.workspace == self.workspace

    def work(self, run: Run, asking: Asking, /) -> HeldWork:
        del asking
        return HeldWork(run, self._reaper, self.workspace)


def _json(event: object) -> str:
    return msgspec.json.encode(event).decode()


async def main(home: str, workspace: str, on_crash: str, count: int) -> None:
    runs = open_runs(home, EventBus(), RunLimits())
    reaper = Reaper()
    runs.attach(HeldWorker(workspace, reaper))
    runs.follow("", lambda run: say(f"{run.id} {run.state} {run.doing}"))
    for number in range(count):
        spec = RunSpec(
            tool="agent_a",
            agent="a",
            engine="codex",
            task=f"task {number}",
            cwd=workspace,
            workspace=workspace,
            fingerprint="f",
            on_crash=msgspec.convert(on_crash, OnCrash),
        )
        run = await runs.start(spec)
        # Whoever reads this may rely on it.
        say(f"started {run.id}")
    say("ready")
    for run in await runs.listed():
        await runs.wait(run.id, within_s=60)
    say("idle")
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await runs.aclose()
    reaper.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
