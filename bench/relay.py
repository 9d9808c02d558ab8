"""Measure tools under their own names against suites, and a long listing against its children.

.venv/bin/python bench/relay.py [--quick] [--readme]

What is compared is taken in turns. It fails no build.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import cast

from shim import BENCH, HELLO, README, SWITCHBOARD, Client, Figure

BEGIN = "<!-- relay: written by relay.py --readme -->\n"
END = "<!-- end of relay -->\n"
CHILDREN, TOOLS = 50, 100
WARM_CALLS, CALLS = 50, 10
ECHO = {"message": "hello"}
SUITE_CALL = {
    "name": "echo_suite",
    "arguments": {"action": "call", "subtool": "echo", "args": ECHO},
}
CALL = {"name": "echo", "arguments": ECHO}


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true")
    options.add_argument("--readme", action="store_true")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="sb-") as folder:
        calls = list(_calls(Path(folder), 20 if given.quick else 200))
        listings = list(_listings(Path(folder), 3 if given.quick else 7))
    load = " ".join(f"{each:.1f}" for each in os.getloadavg())
    report = "\n".join(
        (
            f"{time.strftime('%Y-%m-%d')}, load at the end, the bench itself included: {load}.",
            "",
            "| what | figure | promise | kept |",
            "|---|--:|--:|---|",
            *(each.row() for each in (*calls, *listings)),
        )
    )
    print(report)
    if given.readme:
        before, begin, rest = README.read_text("utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        README.write_text(f"{before}{begin}\n{report}\n\n{END}{after}", "utf-8")
    return 0


class Board:
    """A workspace whose servers are all shown in one way."""

    def __init__(self, folder: Path, servers: dict[str, list[str]], expose: str) -> None:
        self.root = folder / "workspace"
        self.commands = servers
        home = folder / "home"
        (self.root / ".switchboard").mkdir(parents=True)
        home.mkdir()
        entries = {
            name: {"command": command[0], "args": command[1:], "expose": expose}
            for name, command in servers.items()
        }
        path = self.root / ".switchboard" / "mcp.json"
        path.write_text(json.dumps({"mcpServers": entries}), "utf-8")
        self.env = {
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "SWITCHBOARD_TRUST_WORKSPACE": "1",
        }

    def client(self) -> Client:
        return Client([SWITCHBOARD, "mcp", "--in-process"], self.root, self.env)

    def child(self, name: str) -> Client:
        return Client(self.commands[name], self.root, self.env)


def _calls(folder: Path, rounds: int) -> Iterator[Figure]:
    """One call at a time, through a suite and under its own name."""
    servers = {"echo": [sys.executable, str(BENCH / "child.py")]}
    suite, tools = (Board(folder / how, servers, how) for how in ("suite", "tools"))
    with suite.client() as by_suite, tools.client() as by_name, suite.child("echo") as alone:
        ways = {"suite": (by_suite, SUITE_CALL), "name": (by_name, CALL), "alone": (alone, CALL)}
        spent: dict[str, list[float]] = {name: [] for name in ways}
        for client, params in ways.values():
            client.ask("initialize", HELLO)
            client.ask("tools/list", {})
            for _ in range(WARM_CALLS):
                client.ask("tools/call", params)
        for turn in range(rounds):
            order = list(ways.items())
            for name, (client, params) in order[turn % 3 :] + order[: turn % 3]:
                spent[name] += [client.ask("tools/call", params) for _ in range(CALLS)]
    p50 = {name: statistics.median(values) for name, values in spent.items()}
    added = (p50["name"] - p50["alone"]) / (p50["suite"] - p50["alone"])
    yield Figure("added p50 of a call: under its own name ÷ through a suite", added, 1)


def _listings(folder: Path, rounds: int) -> Iterator[Figure]:
    """Every tool of many children in one answer."""
    many = [sys.executable, str(BENCH / "many.py")]
    servers = {f"c{each}": [*many, f"c{each}", str(TOOLS)] for each in range(CHILDREN)}
    board = Board(folder / "many", servers, "tools")
    alone: list[float] = []
    cold: list[float] = []
    warm: list[float] = []
    used: list[float] = []
    for _ in range(rounds):
        began = _processor_time()
        alone.append(_by_themselves(board))
        between = _processor_time()
        with board.client() as client:
            client.ask("initialize", HELLO)
            client.send("tools/list", {})
            assert _count(client) == CHILDREN * TOOLS
            cold.append(time.perf_counter() - client.began)
        used.append((_processor_time() - between) / (between - began))
        with board.client() as client:
            client.ask("initialize", HELLO)
            client.ask("tools/list", {})
            warm += [_listed(client) for _ in range(CALLS)]
    what = f"{CHILDREN * TOOLS:,} tools of {CHILDREN} children"
    median = statistics.median
    yield Figure(f"{what}, cold: Switchboard ÷ the children alone", median(cold) / median(alone), 3)
    yield Figure(f"{what}, cold, processor time: both ÷ the children alone", median(used), 3)
    yield Figure(f"{what}, warm, milliseconds", median(warm) * 1000, 50)


def _processor_time() -> float:
    """What every program that has ended so far has used."""
    times = os.times()
    return times.children_user + times.children_system


def _listed(client: Client) -> float:
    """Seconds until the listing is there; what it takes us to read it is not Switchboard's."""
    began = time.perf_counter()
    client.send("tools/list", {})
    client.line()
    return time.perf_counter() - began


def _count(client: Client) -> int:
    result = cast("dict[str, list[object]]", client.receive()["result"])
    return len(result["tools"])


def _by_themselves(board: Board) -> float:
    """Seconds until every child, started and asked at once, has listed its tools."""
    began = time.perf_counter()
    with ExitStack() as stack:
        clients = [stack.enter_context(board.child(name)) for name in board.commands]
        for client in clients:
            client.send("initialize", HELLO)
            client.send("tools/list", {})
        for client in clients:
            client.receive()
            assert _count(client) == TOOLS
        return time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(main())
