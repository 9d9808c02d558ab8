"""Measure what agents cost: a run over the engine driven by hand, and files that are only there.

.venv/bin/python bench/agents.py [--quick] [--readme]

The engine is the real Codex of `tests/node`, and its model answers at once, on loopback. Every
figure is a ratio of two medians of one run, taken in turns. It fails no build.
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
from pathlib import Path
from typing import IO, Any, cast

from shim import HELLO, Client, Figure, Place

BENCH = Path(__file__).parent
README = BENCH / "README.md"
BEGIN = "<!-- agents: written by agents.py --readme -->\n"
END = "<!-- end of agents -->\n"
FILES = 100
PATIENCE_S = 60.0
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

    def run(self, client: Client) -> float:
        """Seconds that one task of an agent takes, as its client sees it."""
        given = {"task": "say done", "cwd": str(self.root)}
        return client.ask("tools/call", {"name": "agent_agent_0", "arguments": given})

    def by_hand(self, *, afresh: bool) -> float:
        """The same task, given to `codex app-server` by a program that does nothing else.

        `afresh`: in a home that Codex has not seen before, as every run of an agent has one.
        """
        home = self.codex
        if afresh:
            home = Path(tempfile.mkdtemp(dir=self.codex))
            shutil.copy(self.codex / "config.toml", home)
        began = time.perf_counter()
        with self._codex(home, "app-server") as process:
            out, heard = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)

            def ask(number: int, method: str, params: object) -> dict[str, Any]:
                message = {"id": number, "method": method, "params": params}
                out.write(json.dumps(message).encode() + b"\n")
                return until(lambda each: each.get("id") == number)["result"]

            def until(is_it: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
                while line := heard.readline():
                    message = json.loads(line)
                    if is_it(message):
                        return message
                raise AssertionError("codex ended")

            ask(1, "initialize", {"clientInfo": {"name": "bench", "version": "1"}})
            out.write(b'{"method":"initialized"}\n')
            thread = ask(
                2,
                "thread/start",
                {"cwd": str(self.root), "sandbox": "read-only", "ephemeral": True},
            )["thread"]["id"]
            task = [{"type": "text", "text": "say done"}]
            ask(3, "turn/start", {"threadId": thread, "input": task})
            until(lambda each: each.get("method") == "turn/completed")
            spent = time.perf_counter() - began
            out.close()
        return spent

    def exec(self) -> float:
        """The same task, given to `codex exec`."""
        words = ("exec", "--json", "--skip-git-repo-check", "--ephemeral", "-s", "read-only")
        began = time.perf_counter()
        with self._codex(self.codex, *words, "say done") as process:
            cast("IO[bytes]", process.stdin).close()
            assert b"turn.completed" in cast("IO[bytes]", process.stdout).read()
        return time.perf_counter() - began

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
        )

    def spares(self) -> list[int]:
        """The engines that wait for a next run."""
        daemon = cast("int", self.daemon()["pid"])
        return [pid for pid in descendants_of(daemon) if _is_app_server(pid)]

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
        for pid in self.spares():
            os.kill(pid, signal.SIGKILL)
        while self.spares():
            time.sleep(0.02)


def _is_app_server(pid: int) -> bool:
    try:
        return b"app-server" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def runs(place: AgentPlace, rounds: int) -> list[Figure]:
    """A run with and without a spare engine, by hand, and by `codex exec`, in turns."""
    spent: dict[str, list[float]] = {
        name: [] for name in ("cold", "warm", "hand", "hand afresh", "exec")
    }
    with place.client() as client:
        client.ask("initialize", HELLO)
        client.ask("tools/list", {})
        first = place.run(client)
        for _ in range(rounds):
            place.until_spare()
            # While others are measured, nothing of ours may be under way.
            place.end_spares()
            spent["hand"].append(place.by_hand(afresh=False))
            spent["hand afresh"].append(place.by_hand(afresh=True))
            spent["exec"].append(place.exec())
            spent["cold"].append(place.run(client))
            place.until_spare()
            spent["warm"].append(place.run(client))
    ms = {name: f"{statistics.median(each) * 1000:.0f} ms" for name, each in spent.items()}
    print(f"first run of a daemon {first * 1000:.0f} ms; {ms}", file=sys.stderr)
    by_hand = "an agent run, cold ÷ `codex app-server` by hand"
    return [
        Figure(f"{by_hand}, in the user's home", _ratio(spent, "cold", "hand"), 1.2),
        # What of it is the price of a home of its own, which keeps the user's settings out.
        Figure(f"{by_hand}, in a new home", _ratio(spent, "cold", "hand afresh"), 1.2),
        Figure(
            "`codex exec` ÷ an agent run with a spare engine",
            _ratio(spent, "exec", "warm"),
            2.0,
            at_least=True,
        ),
    ]


def files(places: dict[int, AgentPlace], rounds: int) -> list[Figure]:
    """What a client waits for with many agent files and with one, and the daemon's memory."""
    spent: dict[str, list[float]] = {str(count): [] for count in places}
    for _ in range(rounds):
        for count, place in places.items():
            with place.client() as client:
                client.ask("initialize", HELLO)
                client.ask("tools/list", {})
                spent[str(count)].append(time.perf_counter() - client.began)
    memory = {count: cast("int", place.daemon()["memory_bytes"]) for count, place in places.items()}
    ratio = _ratio(spent, str(FILES), "1")
    return [
        Figure(f"start and listing with {FILES} agents ÷ with one", ratio, 1.1),
        Figure(f"daemon with {FILES} agents and no run ÷ with one", memory[FILES] / memory[1], 1.1),
    ]


def _ratio(spent: dict[str, list[float]], one: str, other: str) -> float:
    return statistics.median(a / b for a, b in zip(spent[one], spent[other], strict=True))


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
        places = {count: AgentPlace(folder / str(count), url, count) for count in (1, FILES)}
        for place in places.values():
            then.callback(place.stop)
            with place.client() as client:
                client.ask("initialize", HELLO)
                client.ask("tools/list", {})
        figures = files(places, 8 if given.quick else 30)
        figures = [*runs(places[1], 4 if given.quick else 12), *figures]
    head = ("| what | ratio | promise | kept |", "|---|--:|--:|---|")
    report = "\n".join((*head, *(each.row() for each in figures)))
    print(report)
    if given.readme:
        before, begin, rest = README.read_text("utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        README.write_text(f"{before}{begin}\n{report}\n\n{END}{after}", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
