"""Measure the shim and a warm daemon against serving in process and against direct children.

.venv/bin/python bench/shim.py [--quick] [--readme]

Every figure is a ratio of two medians of one run, taken in turns. It fails no build.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, NamedTuple, Self, cast

BENCH = Path(__file__).parent
README = BENCH / "README.md"
BEGIN = "<!-- daemon: written by shim.py --readme -->\n"
END = "<!-- end of daemon -->\n"
SWITCHBOARD = str(Path(sys.prefix) / "bin" / "switchboard")
CLIENTS, CHILDREN, IN_FLIGHT = 5, 10, 64
PAUSE_S = 0.03
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


class Figure(NamedTuple):
    """One promise: what was measured, and what it may be."""

    what: str
    value: float
    bound: float
    at_least: bool = False

    def row(self) -> str:
        kept = self.value >= self.bound if self.at_least else self.value <= self.bound
        sign = "≥" if self.at_least else "≤"
        verdict = "yes" if kept else "NO"
        return f"| {self.what} | {self.value:.2f} | {sign} {self.bound:g} | {verdict} |"


class Client:
    """A client that launched a server and talks to it over pipes, one line a message."""

    def __init__(self, command: Sequence[str], cwd: Path, env: dict[str, str]) -> None:
        self.began = time.perf_counter()
        self.process = subprocess.Popen(
            command,
            cwd=cwd,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )
        self._out = cast("IO[bytes]", self.process.stdin)
        self._in = open(cast("IO[bytes]", self.process.stdout).fileno(), "rb", closefd=False)  # noqa: SIM115
        self._id = 0

    def send(self, method: str, params: object) -> None:
        self._id += 1
        message = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}
        self._out.write(json.dumps(message).encode() + b"\n")

    def line(self) -> bytes:
        """The next message as it came."""
        line = self._in.readline()
        assert line, "the server ended"
        return line

    def receive(self) -> dict[str, object]:
        answer = json.loads(self.line())
        assert "result" in answer, answer
        assert not answer["result"].get("isError"), answer
        return answer

    def ask(self, method: str, params: object) -> float:
        """Seconds until the answer."""
        began = time.perf_counter()
        self.send(method, params)
        self.receive()
        return time.perf_counter() - began

    def call(self, child: str = "c0") -> float:
        return self.ask("tools/call", _echo(child))

    def rate(self, seconds: float) -> float:
        """Calls a second with many in flight."""
        for _ in range(IN_FLIGHT):
            self.send("tools/call", _echo("c0"))
        began, count = time.perf_counter(), 0
        while time.perf_counter() - began < seconds:
            self.receive()
            self.send("tools/call", _echo("c0"))
            count += 1
        spent = time.perf_counter() - began
        for _ in range(IN_FLIGHT):
            self.receive()
        return count / spent

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._out.close()
        self.process.wait(timeout=30)
        self._in.close()
        cast("IO[bytes]", self.process.stdout).close()


class Place:
    """A workspace with children, a home, and a daemon that ends with it."""

    def __init__(self, folder: Path, child: str = "child.py") -> None:
        self._child = [sys.executable, str(BENCH / child)]
        self.root = folder / "w"
        home = folder / "h"
        (self.root / ".switchboard").mkdir(parents=True)
        home.mkdir()
        servers = {
            f"c{number}": {"command": self._child[0], "args": self._child[1:]}
            for number in range(CHILDREN)
        }
        path = self.root / ".switchboard" / "mcp.json"
        path.write_text(json.dumps({"mcpServers": servers}), "utf-8")
        self.env = {
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "SWITCHBOARD_TRUST_WORKSPACE": "1",
        }

    def client(self, *words: str) -> Client:
        return Client([SWITCHBOARD, "mcp", *words], self.root, self.env)

    def direct(self) -> Client:
        return Client(self._child, self.root, self.env)

    def daemon(self) -> dict[str, object]:
        """What the daemon says of itself."""
        return json.loads(self._run("status", "--json"))["daemon"]

    def stop(self) -> None:
        self._run("daemon", "stop")

    def _run(self, *words: str) -> str:
        done = subprocess.run(
            [SWITCHBOARD, *words], env=self.env, cwd=self.root, capture_output=True, check=True
        )
        return done.stdout.decode()


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true")
    options.add_argument("--readme", action="store_true")
    given = options.parse_args()
    rounds = 8 if given.quick else 30
    with _placed("child.py") as place:
        with place.client() as client:
            client.ask("initialize", HELLO)
            client.call()
        figures = [*_start(place, rounds), *_calls(place, rounds)]
    # Servers as people run them: made with the SDK, not with a page of standard library.
    with _placed("sdk_floor.py") as place:
        figures.append(_memory(place))
    report = "\n".join(
        (
            "| what | ratio | promise | kept |",
            "|---|--:|--:|---|",
            *(each.row() for each in figures),
        )
    )
    print(report)
    if given.readme:
        before, begin, rest = README.read_text("utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        README.write_text(f"{before}{begin}\n{report}\n\n{END}{after}", "utf-8")
    return 0


@contextmanager
def _placed(child: str) -> Generator[Place]:
    with tempfile.TemporaryDirectory(prefix="sb-") as folder:
        place = Place(Path(folder), child)
        try:
            yield place
        finally:
            place.stop()


def _start(place: Place, rounds: int) -> Iterator[Figure]:
    bare: list[float] = []
    times: dict[str, list[tuple[float, float, float]]] = {"shim": [], "process": []}
    later: list[float] = []
    for _ in range(rounds):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], env=place.env, check=True)
        bare.append(time.perf_counter() - began)
        for name, words in (("shim", ()), ("process", ("--in-process",))):
            with place.client(*words) as client:
                client.ask("initialize", HELLO)
                greeted = time.perf_counter() - client.began
                client.ask("tools/list", {})
                listed = time.perf_counter() - client.began
                first = 0.0
                if name == "shim":
                    first = _rested(client)
                    later += [_rested(client) for _ in range(3)]
                times[name].append((greeted, listed, first))
    shim, process = (list(zip(*times[name], strict=True)) for name in ("shim", "process"))
    median = statistics.median
    yield Figure(
        "launch to `initialize`: shim ÷ in process", median(shim[0]) / median(process[0]), 0.6
    )
    yield Figure(
        "launch to `initialize`: shim ÷ `python -c pass`", median(shim[0]) / median(bare), 4
    )
    yield Figure(
        "launch to `tools/list`: shim ÷ in process", median(shim[1]) / median(process[1]), 0.6
    )
    yield Figure(
        "launch to `tools/list`: shim ÷ `python -c pass`", median(shim[1]) / median(bare), 4
    )
    yield Figure("first call on a warm child ÷ a later one", median(shim[2]) / median(later), 1.3)


def _rested(client: Client) -> float:
    """One call after a pause, in which the processor turns to others whoever calls next."""
    time.sleep(PAUSE_S)
    return client.call()


def _calls(place: Place, rounds: int) -> Iterator[Figure]:
    with place.client() as shim, place.client("--in-process") as process, place.direct() as child:
        for client in (shim, process, child):
            client.ask("initialize", HELLO)
        for client in (shim, process):
            client.ask("tools/list", {})
            for _ in range(50):
                client.call()
        spent: dict[str, list[float]] = {"shim": [], "process": [], "child": []}
        for _ in range(rounds * 4):
            for name, client in (("shim", shim), ("process", process)):
                spent[name] += [client.call() for _ in range(10)]
            spent["child"] += [child.ask("tools/call", _direct()) for _ in range(10)]
        p50 = {name: statistics.median(values) for name, values in spent.items()}
        added = (p50["shim"] - p50["child"]) / (p50["process"] - p50["child"])
        yield Figure("added p50 of a call: shim ÷ in process", added, 1.4)
        rates: dict[str, list[float]] = {"shim": [], "process": []}
        for _ in range(max(3, rounds // 4)):
            rates["shim"].append(shim.rate(0.3))
            rates["process"].append(process.rate(0.3))
        ratio = statistics.median(rates["shim"]) / statistics.median(rates["process"])
        yield Figure(
            f"calls a second with {IN_FLIGHT} in flight: shim ÷ in process", ratio, 0.8, True
        )


def _memory(place: Place) -> Figure:
    with ExitStack() as stack:
        direct = [stack.enter_context(place.direct()) for _ in range(CLIENTS * CHILDREN)]
        for client in direct:
            client.send("initialize", HELLO)
        for client in direct:
            client.receive()
        alone = sum(_held(client.process.pid) for client in direct)
    with _connected(place) as clients:
        daemon = place.daemon()
        children = cast("list[dict[str, int]]", daemon["children"])
        pids = [cast("int", daemon["pid"]), *(each["pid"] for each in children if each["pid"])]
        shared = sum(map(_held, pids + [client.process.pid for client in clients]))
    what = f"memory of {CLIENTS} clients on {CHILDREN} children: daemon ÷ direct"
    return Figure(what, shared / alone, 0.25)


@contextmanager
def _connected(place: Place) -> Generator[list[Client]]:
    with ExitStack() as stack:
        clients = [stack.enter_context(place.client()) for _ in range(CLIENTS)]
        for client in clients:
            client.ask("initialize", HELLO)
            for number in range(CHILDREN):
                ask = {"name": f"c{number}_suite", "arguments": {"action": "introspect"}}
                client.ask("tools/call", ask)
        yield clients


def _held(pid: int) -> int:
    """The memory that a process has alone, and its part of what it shares."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii")
    return int(next(line for line in text.splitlines() if line.startswith("Pss:")).split()[1])


def _echo(child: str) -> dict[str, object]:
    arguments = {"action": "call", "subtool": "echo", "args": {"message": "hello"}}
    return {"name": f"{child}_suite", "arguments": arguments}


def _direct() -> dict[str, object]:
    return {"name": "echo", "arguments": {"message": "hello"}}


if __name__ == "__main__":
    sys.exit(main())
