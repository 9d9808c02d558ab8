"""Measure the start of a program in its sandbox against the same bubblewrap run by hand.

.venv/bin/python bench/sandbox.py [--quick] [--readme]

Taken in turns, each round in another order; a ratio is the median of the ratios of the rounds. It
fails no build.
"""

import argparse
import asyncio
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from io import FileIO
from pathlib import Path

from switchboard.procs.spawn import SpawnSpec, spawn
from switchboard.procs.stop import stop
from switchboard.sandbox.bubblewrap import mount_plan, sandbox_arguments
from switchboard.sandbox.policy import SandboxPolicy
from switchboard.sandbox.probe import Bubblewrap, Probe
from switchboard.sandbox.roots import checked_roots
from switchboard.sandbox.sandbox import Sandbox
from switchboard.sandbox.seccomp import MACHINES, seccomp_filter
from switchkit.reaper_client import Reaper

README = Path(__file__).parent / "README.md"
BEGIN = "<!-- sandbox: written by sandbox.py --readme -->\n"
END = "<!-- end of sandbox -->\n"
TRUE = "/bin/true"
PROMISE = 1.4
ROUNDS, QUICK_ROUNDS = 200, 40

Start = Callable[[], Awaitable[float]]


class Bench:
    """One workspace with a repository in it, and the ways to start a program there."""

    def __init__(self, folder: Path) -> None:
        self._workspace, home = folder / "workspace", folder / "home"
        (self._workspace / ".git" / "hooks").mkdir(parents=True)
        (self._workspace / ".git" / "config").touch()
        (self._workspace / ".env").touch()
        (self._workspace / ".vscode").mkdir()
        home.mkdir()
        self._env = {"PATH": "/usr/bin:/bin", "HOME": str(home)}
        self._confinement = SandboxPolicy(
            cwd=str(self._workspace), home=str(home), path=self._env["PATH"]
        )
        self._sandbox = Sandbox()
        self._reaper = Reaper()
        found = Probe().look()
        if not isinstance(found, Bubblewrap):
            sys.exit(f"there is no sandbox here: {found.why}\n{found.fix}")
        self.bubblewrap = found
        self._filter = seccomp_filter(MACHINES[found.machine], allow_network=False)
        self._arguments = self.arguments()

    def arguments(self) -> list[str]:
        roots = checked_roots(self._confinement, TRUE)
        plan = mount_plan(roots, self._confinement)
        return sandbox_arguments(self._confinement, plan, roots)

    async def by_hand(self) -> float:
        """The same arguments, written down before; nothing watches the process."""
        with FileIO(os.memfd_create("seccomp"), "r+b") as file:
            file.write(self._filter)
            file.seek(0)
            number = str(file.fileno())
            argv = [self.bubblewrap.path, *self._arguments, "--seccomp", number, "--", TRUE]
            return _waited(argv, self._env, (file.fileno(),))

    async def bare(self) -> float:
        return _waited([TRUE], self._env)

    async def confined(self) -> float:
        return await self._spawned(sandboxed=True)

    async def unconfined(self) -> float:
        return await self._spawned(sandboxed=False)

    async def _spawned(self, *, sandboxed: bool) -> float:
        """As Switchboard does: arguments made anew, guarded by the reaper, watched to its end."""
        began = time.perf_counter()
        wrap = self._sandbox.around(self._confinement) if sandboxed else None
        spec = SpawnSpec(argv=(TRUE,), cwd=str(self._workspace), env=self._env, wrap=wrap)
        running = await spawn(spec, reaper=self._reaper, timeout_s=30)
        status = await running.exited
        spent = time.perf_counter() - began
        await stop(running, close_input=running.stdin.close)
        running.stdout.close()
        assert status == 0, running.errors.text()
        return spent

    def close(self) -> None:
        self._reaper.close()


def _waited(argv: list[str], env: dict[str, str], fds: tuple[int, ...] = ()) -> float:
    began = time.perf_counter()
    pipe = subprocess.PIPE
    with subprocess.Popen(
        argv, env=env, pass_fds=fds, stdin=pipe, stdout=pipe, stderr=pipe
    ) as process:
        status = process.wait()
        spent = time.perf_counter() - began
    assert status == 0
    return spent


async def measure(bench: Bench, rounds: int) -> dict[str, list[float]]:
    ways: dict[str, Start] = {
        "bare": bench.bare,
        "unconfined": bench.unconfined,
        "by hand": bench.by_hand,
        "confined": bench.confined,
    }
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for start in ways.values():
        await start()
    for _ in range(rounds):
        for name in random.sample(list(ways), len(ways)):
            taken[name].append(await ways[name]())
    return taken


def _ratio(taken: dict[str, list[float]], above: str, below: str) -> float:
    pairs = zip(taken[above], taken[below], strict=True)
    return statistics.median(one / other for one, other in pairs)


def _arguments_ms(bench: Bench) -> float:
    began = time.perf_counter()
    for _ in range(100):
        bench.arguments()
    return (time.perf_counter() - began) * 10


def report(bench: Bench, taken: dict[str, list[float]]) -> str:
    """The table of one run."""
    middle = {name: statistics.median(times) * 1000 for name, times in taken.items()}
    ratio = _ratio(taken, "confined", "by hand")
    kept = "yes" if ratio <= PROMISE else "NO"
    who = "root" if os.getuid() == 0 else "an ordinary user"
    version, rounds, load = bench.bubblewrap.version, len(taken["bare"]), os.getloadavg()[0]
    urgent = ", with real-time priority" if os.sched_getscheduler(0) == os.SCHED_FIFO else ""
    what = "start in a sandbox ÷ the same bubblewrap by hand"
    return f"""\
bubblewrap {version}, {rounds} rounds, {os.cpu_count()} cores, load {load:.1f}, {who}{urgent}.

| `{TRUE}`, from the start to its end | ms |
|---|--:|
| bare | {middle["bare"]:.1f} |
| started by Switchboard, no sandbox | {middle["unconfined"]:.1f} |
| the same bubblewrap by hand | {middle["by hand"]:.1f} |
| started by Switchboard in a sandbox | {middle["confined"]:.1f} |
| of that, making the arguments | {_arguments_ms(bench):.1f} |

| what | ratio | promise | kept |
|---|--:|--:|---|
| {what} | {ratio:.2f} | ≤ {PROMISE:g} | {kept} |"""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few rounds only")
    parser.add_argument("--readme", action="store_true", help="write the table into README.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        bench = Bench(Path(folder))
        try:
            rounds = QUICK_ROUNDS if options.quick else ROUNDS
            text = report(bench, asyncio.run(measure(bench, rounds)))
        finally:
            bench.close()
    print(text)
    if options.readme:
        before, begin, rest = README.read_text("utf-8").partition(BEGIN)
        _, end, after = rest.partition(END)
        assert begin, "README.md has lost its marks"
        assert end, "README.md has lost its marks"
        README.write_text(f"{before}{BEGIN}\n{text}\n\n{END}{after}", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
