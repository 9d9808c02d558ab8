"""Measure what agents cost: a run over the engine driven by hand, and files that are only there.

.venv/bin/python bench/agents.py [--quick] [--readme]

The engine is the real Codex of `tests/node`, and its model answers at once, on loopback. A round
takes every way once, each round beginning with another; a ratio is the median of the ratios of the
rounds. On a busy machine `chrt -f 10` before the command takes the waiting for a core out. It fails
no build.
"""

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from shim import HELLO, Client, Figure, Place

from switchboard.engines.codex.home import make_home, user_codex
from switchboard.engines.codex.launch import FLAGS as LAUNCHED
from switchboard.engines.codex.program import CodexProgram
from switchboard.engines.codex.template import HomeTemplates

BENCH = Path(__file__).parent
README = BENCH / "README.md"
BEGIN = "<!-- agents: written by agents.py --readme -->\n"
END = "<!-- end of agents -->\n"
FILES = 100
PATIENCE_S = 60.0
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# What the engine takes at least.
_LEAST_TICKS = _TICKS_PER_S // 12
# Those of `app-server`.
FLAGS = LAUNCHED[1:]
PROVIDER = """
model = "mock-model"
model_provider = "loopback"
[model_providers.loopback]
name = "loopback"
base_url = "{url}/v1"
wire_api = "responses"
"""
AGENT = 'name = "agent {number}"\ndescription = "does it"\n[run]\nsandbox_mode = "read-only"\n'

sys.path.insert(0, str(BENCH.parent / "tests"))
from support.hosts import PRIVATE, codex_program  # noqa: E402 - found by the line above
from support.models.responses import responses_model  # noqa: E402 - as above
from support.processes import descendants_of  # noqa: E402 - as above


class Spent(NamedTuple):
    """Seconds until the answer, and of processors until everything has ended."""

    wall: float
    cpu: float


class AgentPlace(Place):
    """A workspace with agents, and a user who has Codex."""

    def __init__(self, folder: Path, url: str, agents: int) -> None:
        super().__init__(folder)
        self.codex = Path(self.env["HOME"]) / ".codex"
        self.codex.mkdir()
        (self.codex / "config.toml").write_text(PROVIDER.format(url=url), "utf-8")
        home = Path(self.env["HOME"]) / ".switchboard"
        home.mkdir(mode=0o700)
        program = json.dumps(str(codex_program()))
        (home / "config.toml").write_text(f"[agents.programs]\ncodex = {program}\n", "utf-8")
        (self.root / ".agents").mkdir()
        for number in range(agents):
            path = self.root / ".agents" / f"a{number}.toml"
            path.write_text(AGENT.format(number=number), "utf-8")

    @cached_property
    def pid(self) -> int:
        """The daemon's."""
        return cast("int", self.daemon()["pid"])

    def run(self, client: Client) -> float:
        """Seconds that one task of an agent takes, as its client sees it."""
        given = {"task": "say done", "cwd": str(self.root)}
        return client.ask("tools/call", {"name": "agent_agent_0", "arguments": given})

    def measured_run(self, client: Client) -> Spent:
        """The same, with the processor time of the daemon and of the engine, from start to end."""
        daemon, spares = self.pid, self.spares()
        # What a spare has done before is in its account, and so in the daemon's once it has ended.
        own, ended = _ticks(daemon), _ticks_of_ended(daemon)
        earlier = sum(map(_ticks, spares))
        wall = self.run(client)
        deadline = time.monotonic() + PATIENCE_S
        # Smaller programs end before it.
        while _ticks_of_ended(daemon) - ended < max(earlier, _LEAST_TICKS):
            assert time.monotonic() < deadline, "the engine did not end"
            time.sleep(0.01)
        spent = _ticks(daemon) - own + _ticks_of_ended(daemon) - ended - earlier
        return Spent(wall, spent / _TICKS_PER_S)

    def by_hand(self, home: Path, *words: str) -> Spent:
        """The same task, given to `codex app-server` by a program that does nothing else."""
        began = time.perf_counter()
        process = self._codex(home, "app-server", *words)
        out, heard = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)

        def ask(number: int, method: str, params: object) -> dict[str, Any]:
            message = {"id": number, "method": method, "params": params}
            out.write(json.dumps(message).encode() + b"\n")
            return until(lambda each: each.get("id") == number)["result"]

        def until(is_it: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
            while line := lines.readline():
                message = json.loads(line)
                if is_it(message):
                    return message
            raise AssertionError("codex ended")

        with open(heard.fileno(), "rb", closefd=False) as lines:
            ask(1, "initialize", {"clientInfo": {"name": "bench", "version": "1"}})
            out.write(b'{"method":"initialized"}\n')
            # Not ephemeral: a run can be gone on with, too.
            opening = {"cwd": str(self.root), "sandbox": "read-only"}
            thread = ask(2, "thread/start", opening)["thread"]["id"]
            task = [{"type": "text", "text": "say done"}]
            ask(3, "turn/start", {"threadId": thread, "input": task})
            until(lambda each: each.get("method") == "turn/completed")
            wall = time.perf_counter() - began
            out.close()
            return Spent(wall, _ended(process))

    def new_home(self) -> Path:
        """A home that Codex has not seen before, with the user's settings."""
        home = Path(tempfile.mkdtemp(dir=self.codex))
        shutil.copy(self.codex / "config.toml", home)
        return home

    def like_home(self) -> Path:
        """A home as runs of agents get it, made before anybody looks at the clock."""
        home = Path(tempfile.mkdtemp(dir=self.codex)) / "codex"
        cache = Path(self.env["HOME"]) / ".switchboard" / "cache" / "engines"
        program = CodexProgram(path=str(codex_program()))
        HomeTemplates(str(cache)).begin(str(home), program)
        make_home(str(home), user_codex(self.env), self.env)
        return home

    def exec(self, *more: str) -> Spent:
        """The same task, given to `codex exec`, until it has ended."""
        words = ("exec", "--json", "--skip-git-repo-check", "-s", "read-only", *more)
        began = time.perf_counter()
        process = self._codex(self.codex, *words, "say done")
        cast("IO[bytes]", process.stdin).close()
        assert b"turn.completed" in cast("IO[bytes]", process.stdout).read()
        spent = _ended(process)
        return Spent(time.perf_counter() - began, spent)

    def _codex(self, home: Path, *words: str) -> "subprocess.Popen[bytes]":
        env = {**self.env, "CODEX_HOME": str(home)}
        return subprocess.Popen(
            [str(codex_program()), *words],
            cwd=self.root,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            # As whatever Switchboard starts: Linux gives each session its share of a busy machine.
            start_new_session=True,
        )

    def spares(self) -> list[int]:
        """The engines that wait for a next run."""
        return self._engines("spares")

    def _engines(self, place: str) -> list[int]:
        """Those that live in such a place."""
        return [pid for pid in descendants_of(self.pid) if _lives_in(pid, place)]

    def until_spare(self) -> None:
        """Wait for an engine that has nothing more to load."""
        deadline = time.monotonic() + PATIENCE_S
        while not (spares := self.spares()):
            assert time.monotonic() < deadline, "no spare engine was started"
            time.sleep(0.05)
        spent = -1
        # It is ready when it does nothing any more.
        while spent != (spent := sum(map(_ticks, spares))):
            assert time.monotonic() < deadline, "the spare engine does not rest"
            time.sleep(0.3)

    def end_spares(self) -> None:
        ended = _ticks_of_ended(self.pid)
        for pid in self.spares():
            os.kill(pid, signal.SIGKILL)
        # Until it is in the daemon's account.
        while self.spares() or _ticks_of_ended(self.pid) == ended:
            time.sleep(0.02)


def _lives_in(pid: int, folder: str) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        place = Path(f"/proc/{pid}/cwd").readlink()
    except OSError:
        return False
    return b"app-server" in words and folder in place.parts


def _ticks(pid: int) -> int:
    """The processor time of a process."""
    return sum(_times(pid)[:2])


def _ticks_of_ended(pid: int) -> int:
    """The processor time of its children that have ended."""
    return sum(_times(pid)[2:])


def _times(pid: int) -> list[int]:
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return [int(field) for field in fields[11:15]]


def _ended(process: "subprocess.Popen[bytes]") -> float:
    """Wait for the end of a process; gives its processor time."""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    cast("IO[bytes]", process.stdout).close()
    return used.ru_utime + used.ru_stime


USER, NEW, LIKE = (
    "by hand, the user's home",
    "by hand, a new home",
    "by hand, a home as runs get it",
)
EXEC, PASSING = "`codex exec`", "`codex exec --ephemeral`"
COLD, WARM = "agent run, cold", "agent run, with a spare"


def runs(place: AgentPlace, rounds: int) -> tuple[list[Figure], dict[str, Spent]]:
    """A run with and without a spare engine, by hand, and by `codex exec`, in turns."""
    spent: dict[str, list[Spent]] = {}
    with place.client() as client:
        client.ask("initialize", HELLO)
        client.ask("tools/list", {})

        def cold() -> Spent:
            spent = place.measured_run(client)
            place.until_spare()
            place.end_spares()
            return spent

        def warm() -> Spent:
            place.run(client)
            place.until_spare()
            spent = place.measured_run(client)
            place.until_spare()
            # While others are measured, nothing of ours may be under way.
            place.end_spares()
            return spent

        ways: dict[str, Callable[[], Spent]] = {
            USER: lambda: place.by_hand(place.codex),
            NEW: lambda: place.by_hand(place.new_home()),
            LIKE: lambda: place.by_hand(place.like_home(), *FLAGS),
            EXEC: place.exec,
            PASSING: lambda: place.exec("--ephemeral"),
            COLD: cold,
            WARM: warm,
        }
        first = place.measured_run(client)
        place.until_spare()
        place.end_spares()
        # Once unmeasured: the user's home must not be new.
        place.by_hand(place.codex)
        names = list(ways)
        for number in range(rounds):
            at = number % len(names)
            for name in (*names[at:], *names[:at]):
                spent.setdefault(name, []).append(ways[name]())
    over = "an agent run, cold ÷ `codex app-server`"
    figures = [
        Figure(f"{over} {USER}", _ratio(spent, COLD, USER), 1.2),
        Figure(f"{over} {NEW}", _ratio(spent, COLD, NEW), 1.2),
        # What Switchboard itself adds: the other side has every advantage that it has.
        Figure(f"{over} {LIKE}", _ratio(spent, COLD, LIKE), 1.2),
        Figure(f"{EXEC} ÷ an agent run with a spare", _ratio(spent, EXEC, WARM), 2.0, True),
        # Which keeps nothing to go on with, as a run does.
        Figure(f"{PASSING} ÷ an agent run with a spare", _ratio(spent, PASSING, WARM), 2.0, True),
    ]
    return figures, {"first run of a daemon": first, **_medians(spent)}


def _medians(spent: dict[str, list[Spent]]) -> dict[str, Spent]:
    middle = statistics.median
    return {
        name: Spent(middle(each.wall for each in all_), middle(each.cpu for each in all_))
        for name, all_ in spent.items()
    }


def files(places: dict[int, AgentPlace], rounds: int) -> list[Figure]:
    """What a client waits for with many agent files and with none, and the daemon's memory."""
    spent: dict[str, list[Spent]] = {str(count): [] for count in places}
    for _ in range(rounds):
        for count, place in places.items():
            with place.client() as client:
                client.ask("initialize", HELLO)
                client.ask("tools/list", {})
                spent[str(count)].append(Spent(time.perf_counter() - client.began, 0))
    memory = {count: cast("int", place.daemon()["memory_bytes"]) for count, place in places.items()}
    return [
        Figure(
            f"start and listing with {count} agents ÷ with {other or 'none'}",
            _ratio(spent, str(count), str(other)),
            1.1,
        )
        for count, other in ((FILES, 1), (FILES, 0))
    ] + [
        Figure(
            f"memory of a daemon with {FILES} agents and no run ÷ with none",
            memory[FILES] / memory[0],
            1.1,
        )
    ]


def _ratio(spent: dict[str, list[Spent]], one: str, other: str) -> float:
    pairs = zip(spent[one], spent[other], strict=True)
    return statistics.median(a.wall / b.wall for a, b in pairs)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true")
    options.add_argument("--readme", action="store_true")
    given = options.parse_args()
    PRIVATE.mkdir(parents=True, exist_ok=True)
    with ExitStack() as then:
        # Codex will not have its home in the system's folder for temporary files.
        folder = Path(
            then.enter_context(
                tempfile.TemporaryDirectory(dir=PRIVATE, prefix="b", ignore_cleanup_errors=True)
            )
        )
        url = then.enter_context(responses_model()).url
        places = {count: AgentPlace(folder / str(count), url, count) for count in (0, 1, FILES)}
        for place in places.values():
            then.callback(place.stop)
            with place.client() as client:
                client.ask("initialize", HELLO)
                client.ask("tools/list", {})
        listed = files(places, 8 if given.quick else 40)
        figures, medians = runs(places[1], 4 if given.quick else 20)
    report = "\n".join(
        (
            f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, {_conditions()}.",
            "",
            "| what | ratio | promise | kept |",
            "|---|--:|--:|---|",
            *(each.row() for each in (*figures, *listed)),
            "",
            "| one trivial task, medians | ms | processor ms |",
            "|---|--:|--:|",
            *(
                f"| {name} | {s.wall * 1000:.0f} | {s.cpu * 1000:.0f} |"
                for name, s in medians.items()
            ),
        )
    )
    print(report)
    if given.readme:
        before, begin, rest = README.read_text("utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        README.write_text(f"{before}{begin}\n{report}\n\n{END}{after}", "utf-8")
    return 0


def _conditions() -> str:
    load = " ".join(f"{each:.1f}" for each in os.getloadavg())
    is_first = os.sched_getscheduler(0) == os.SCHED_FIFO
    return f"load at the end {load}{', with real-time priority' if is_first else ''}"


if __name__ == "__main__":
    sys.exit(main())
