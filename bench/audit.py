"""Measure the audit log: records a second, and what its gates cost a call.

.venv/bin/python bench/audit.py [--quick] [--readme]

Everything is taken in turns and told as ratios of medians, with one sync of the disk beside it: a
call with side effects waits for one. On a busy machine `chrt -f 10` before the command takes the
waiting for a core out. It fails no build.
"""

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import uvloop
from msgspec import Raw
from msgspec.structs import replace

from switchboard.audit.paths import AuditPaths
from switchboard.audit.store import SqliteAudit
from switchboard.audit.verify import verify
from switchboard.children.reaching.child_limits import ChildLimits
from switchboard.core.audit import AuditRecord, stamp
from switchboard.core.bus import EventBus
from switchboard.core.calls.call import Call, Outcome
from switchboard.core.calls.launches import Launch
from switchboard.core.catalog.offers import Kind, Offer
from switchboard.core.catalog.tools import Effects, ToolSpec
from switchboard.core.catalog.visibility import Visibility
from switchboard.core.channels.channel import Channel
from switchboard.core.ports import Next
from switchboard.core.sessions import Session
from switchboard.daemon.board.runtime import Runtime
from switchboard.pipeline.order import build_road
from switchboard.providers.suites.build import build_suites
from switchboard.providers.suites.provider import SuitesProvider
from switchboard.settings.load import load_settings

BENCH = Path(__file__).parent
README = BENCH / "README.md"
BEGIN = "<!-- audit: written by audit.py --readme -->\n"
END = "<!-- end of audit -->\n"
CALLERS = 64
# Records of one caller in a round, and calls in a block.
EACH, BLOCK = 150, 40
# Blocks with and without the log for each round: on a busy machine a call has two speeds, and the
# median of few pairs follows the moment.
PAIRS = 40


class Figure(NamedTuple):
    """One promise: what was measured, and what it may be; without a bound it is told only."""

    what: str
    value: float
    bound: float | None = None
    at_least: bool = False

    def row(self) -> str:
        value = f"{self.value:,.0f}" if self.value >= 100 else f"{self.value:.2f}"
        if self.bound is None:
            return f"| {self.what} | {value} | | |"
        kept = self.value >= self.bound if self.at_least else self.value <= self.bound
        sign = "≥" if self.at_least else "≤"
        return f"| {self.what} | {value} | {sign} {self.bound:,g} | {'yes' if kept else 'NO'} |"


class ReadOnly:
    """The suites, with every subtool declared to change nothing."""

    def __init__(self, suites: SuitesProvider) -> None:
        self._suites = suites
        self._specs: dict[str, ToolSpec] = {}
        self.key = suites.key

    def specs(self) -> Sequence[ToolSpec]:
        return self._suites.specs()

    async def narrow(self, call: Call) -> Call:
        call = await self._suites.narrow(call)
        spec = self._specs.get(call.tool.name)
        if spec is None:
            spec = replace(call.tool, effects=Effects(read_only=True))
            self._specs[call.tool.name] = spec
        return replace(call, tool=spec)

    def launch(self, call: Call) -> Launch | Coroutine[Any, Any, Launch] | None:
        return self._suites.launch(call)

    async def invoke(self, call: Call) -> Outcome:
        return await self._suites.invoke(call)

    async def offers(
        self, kind: Kind, session: Session, channel: Channel | None, wanted: str = ""
    ) -> tuple[Offer, ...]:
        del kind, session, channel, wanted
        return ()

    async def aclose(self) -> None:
        """Nothing of its own."""


def sync_ms(folder: Path, times: int) -> float:
    """How long the disk takes for one small write."""
    handle = os.open(folder / "sync", os.O_WRONLY | os.O_CREAT, 0o600)
    took: list[float] = []
    for place in range(times):
        began = time.perf_counter()
        os.pwrite(handle, b"x" * 4096, place * 4096)
        os.fdatasync(handle)
        took.append(time.perf_counter() - began)
    os.close(handle)
    return statistics.median(took) * 1000


async def records_a_second(writer: SqliteAudit, each: int) -> float:
    """So many callers, each waiting for its own record before it writes the next."""

    async def caller(number: int) -> None:
        for turn in range(each):
            now = stamp()
            await writer.append(
                AuditRecord(
                    ts=now,
                    event="tool.call.started",
                    correlation_id=f"3f9c2a71be-{number}-{turn}",
                    session_id="3f9c2a71be",
                    tool="write_file",
                    args_sha256="ab" * 32,
                    cwd="/home/somebody/work/project",
                    sandbox_profile="default",
                    timeout_ms=60_000,
                    started=now,
                    via="filesystem_suite",
                    provider="suites",
                    side_effects=True,
                    args_shape="path:string content:string",
                    client="editor 2.0.1",
                    transport="stdio",
                    workspace="/home/somebody/work/project",
                    pid=1234,
                )
            )

    began = time.perf_counter()
    await asyncio.gather(*(caller(number) for number in range(CALLERS)))
    return CALLERS * each / (time.perf_counter() - began)


async def p50_us(road: Next, tool: ToolSpec, session: Session) -> float:
    """One call at a time to a warm child."""
    arguments = Raw(b'{"action":"call","subtool":"echo","args":{"message":"hello"}}')
    took: list[float] = []
    for number in range(BLOCK):
        call = Call(id=f"bench-{number}", session=session, tool=tool, arguments=arguments)
        began = time.perf_counter()
        await road(call)
        took.append(time.perf_counter() - began)
    return statistics.median(took) * 1e6


async def measure(folder: Path, rounds: int) -> list[Figure]:
    writer = SqliteAudit(str(folder / "home"))
    syncs = [sync_ms(folder, 50)]
    speeds: list[float] = []
    spent = on_loop = 0.0
    for _ in range(rounds):
        began, began_here = time.process_time(), time.thread_time()
        speeds.append(await records_a_second(writer, EACH))
        spent += time.process_time() - began
        on_loop += time.thread_time() - began_here
        syncs.append(sync_ms(folder, 20))
    sync = statistics.median(syncs)
    calls = await measure_calls(folder, writer, rounds * PAIRS)
    writer.close()
    records = rounds * CALLERS * EACH
    assert verify(AuditPaths(folder / "home")).is_whole
    return [
        Figure(
            "records a second on disk, 64 callers, median", statistics.median(speeds), 10_000, True
        ),
        Figure("the same, best round", max(speeds)),
        Figure("processor time for a record, µs", spent / records * 1e6),
        Figure("of that on the loop, with the callers of this bench, µs", on_loop / records * 1e6),
        Figure("one sync of this disk, ms", sync),
        *calls,
    ]


async def measure_calls(folder: Path, writer: SqliteAudit, rounds: int) -> list[Figure]:
    config = folder / "mcp.json"
    child = f'{{"command": "{sys.executable}", "args": ["{BENCH / "child.py"}"]}}'
    config.write_text(f'{{"mcpServers": {{"bench": {child}}}}}', "utf-8")
    environ = {
        "HOME": str(folder),
        "PATH": os.environ["PATH"],
        "SWITCHBOARD_TRUST_WORKSPACE": "1",
        "SWITCHBOARD_HOME": str(folder / "home"),
    }
    settings = load_settings(workspace=str(folder), environ=environ, flags={}, config=str(config))
    runtime = Runtime(settings, environ=environ, events=EventBus())
    engine = runtime.engine
    limits = ChildLimits(spawn_s=30, rpc_s=30, idle_s=600)
    suites = SuitesProvider(
        build_suites(
            settings.servers,
            settings.suites,
            introspection=settings.introspection,
            results=settings.results,
            sources={entry.name: engine.pool.source(entry, limits) for entry in settings.servers},
        )
    )
    reading = ReadOnly(suites)

    def road(provider: SuitesProvider | ReadOnly, log: SqliteAudit | None) -> Next:
        return build_road({provider.key: provider}, Visibility(), EventBus(), audit=log)

    roads = {
        "off": road(reading, None),
        "read": road(reading, writer),
        "effects": road(suites, writer),
    }
    (tool,) = suites.specs()
    session = Session(id="bench", via="stdio", workspace=str(folder), client="bench 1")
    for each in roads.values():
        await p50_us(each, tool, session)
    took: dict[str, list[float]] = {name: [] for name in roads}
    for turn in range(rounds):
        # There and back, so that neither always follows the other.
        for name in ("off", "read") if turn % 2 else ("read", "off"):
            took[name].append(await p50_us(roads[name], tool, session))
    # Last: whoever has slept through many syncs is favoured by the scheduler for a while.
    for _ in range(rounds // 20):
        took["effects"].append(await p50_us(roads["effects"], tool, session))
    await engine.aclose()
    pairs = zip(took["read"], took["off"], strict=True)
    return [
        Figure("read-only call, p50: log ÷ none", statistics.median(a / b for a, b in pairs), 1.15),
        Figure("p50 without the log, µs", statistics.median(took["off"])),
        Figure("p50 read-only with the log, µs", statistics.median(took["read"])),
        Figure("p50 with side effects and the log, µs", statistics.median(took["effects"])),
    ]


def table(figures: Sequence[Figure]) -> str:
    rows = "\n".join(figure.row() for figure in figures)
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    urgent = ", with real-time priority" if os.sched_getscheduler(0) == os.SCHED_FIFO else ""
    about = f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, load at the end {load}{urgent}."
    return f"\n{about}\n\n| what | value | promise | kept |\n|---|--:|--:|---|\n{rows}\n\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--readme", action="store_true")
    options = parser.parse_args()
    # Beside the sources: the temporary folder may be memory, which syncs for free.
    base = BENCH.parent / ".run"
    base.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=base) as folder:
        figures = uvloop.run(measure(Path(folder), 2 if options.quick else 7))
    text = table(figures)
    print(text)
    if options.readme:
        page = README.read_text("utf-8")
        before, _, rest = page.partition(BEGIN)
        README.write_text(before + BEGIN + text + END + rest.partition(END)[2], "utf-8")


if __name__ == "__main__":
    main()
