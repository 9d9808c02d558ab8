"""Measure calls over HTTP, in both eras, against the child alone and against other checkouts.

    .venv/bin/python bench/http_road.py [--quick] [--base CHECKOUT] [--team] [--sessions 2000]

Every row is measured once a round, in turns. A figure is the median of the rounds, a ratio that of
the ratios of the rounds; `best` is the best round, which a busy machine disturbs least. The client
is prebuilt bytes on connections that stay open, so that it is not what is measured. Gate and audit
log are as they are by default, unless `--gate` says otherwise for all of them. `--team` adds a
gateway on a PostgreSQL of its own, as installed (with fsync); `--sessions` holds so many sessions
open at once instead, with 200 calls a second through them. Loopback only; it fails no build.
"""

import argparse
import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import cycle
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import NamedTuple

from gauge.footprint import computed, resident
from gauge.http_calls import HANDSHAKE, MODERN, HttpCalls
from gauge.local_postgres import local_postgres
from gauge.row import CHECKOUT, CHILD

IN_FLIGHT = 64
ONE_BY_ONE = 150
TOKEN = "bench-only-on-loopback"
ERAS = {"handshake": HANDSHAKE, "modern": MODERN}
PATIENCE_S = 30.0
CALLS_A_SECOND = 200


class Turn(NamedTuple):
    """One row in one round: seconds of a call, calls a second, processor seconds of a call."""

    p50: float
    rate: float
    effort: float


class Direct(NamedTuple):
    """The child alone: a turn of the bench, and seconds of one call."""

    turn: Callable[[], Turn]
    one: Callable[[], float]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--base", type=Path, action="append", default=[], metavar="CHECKOUT")
    parser.add_argument("--quick", action="store_true", help="six rounds in place of twenty")
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--eras", default="handshake,modern")
    parser.add_argument("--gate", choices=("on", "off"), default="")
    parser.add_argument("--team", action="store_true", help="a gateway on PostgreSQL, too")
    parser.add_argument("--sessions", type=int, default=0, metavar="N")
    options = parser.parse_args()
    trees = [CHECKOUT, *(each.resolve() for each in options.base)]
    rounds = options.rounds or (6 if options.quick else 20)
    with TemporaryDirectory(prefix="http-road-") as folder, contextlib.ExitStack() as stack:
        root = Path(folder)
        database = stack.enter_context(local_postgres()) if options.team else ""
        if options.sessions:
            hold_sessions(root, trees, options.sessions, database)
            return 0
        rows: dict[str, Callable[[], Turn]] = {"direct": stack.enter_context(direct()).turn}
        for number, tree in enumerate(trees):
            name = "here" if not number else f"base {tree.name}"
            for kind in ("", database) if database and not number else ("",):
                where = root / f"{number}{'team' if kind else ''}"
                port, process = stack.enter_context(gateway(where, tree, kind, options.gate))
                for era in options.eras.split(","):
                    calls = HttpCalls(port, TOKEN, ERAS[era], stack)
                    calls.warm(300)
                    label = f"{name}{' PostgreSQL' if kind else ''}, {era}"
                    rows[label] = turn_of(calls, process.pid)
        print(table(measured(rows, rounds)))
        print(
            f"\n{rounds} rounds; load at the end: {' '.join(f'{x:.1f}' for x in os.getloadavg())}"
        )
    return 0


def measured(rows: dict[str, Callable[[], Turn]], rounds: int) -> dict[str, list[Turn]]:
    found: dict[str, list[Turn]] = {name: [] for name in rows}
    names = list(rows)
    for number in range(rounds):
        first = number % len(names)
        for name in (*names[first:], *names[:first]):
            found[name].append(rows[name]())
    return found


def table(found: dict[str, list[Turn]]) -> str:
    flight = f"{IN_FLIGHT}: per s | ÷ direct | ÷ here | best"
    lines = [
        f"| row | p50 µs | ÷ direct | ÷ here | best | {flight} | CPU µs | best |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, turns in found.items():
        here = found.get(f"here, {name.rpartition(', ')[2]}", turns)
        base = found["direct"]
        efforts, rates, waits = (
            [each.effort * 1e6 for each in turns],
            [each.rate for each in turns],
            [each.p50 * 1e6 for each in turns],
        )
        lines.append(
            f"| {name} | {median(waits):.0f} | {paired(turns, base, 'p50'):.1f}"
            f" | {paired(turns, here, 'p50'):.2f} | {min(waits):.0f} | {median(rates):.0f}"
            f" | {paired(turns, base, 'rate'):.3f} | {paired(turns, here, 'rate'):.2f}"
            f" | {max(rates):.0f} | {median(efforts):.0f} | {min(efforts):.0f} |"
        )
    return "\n".join(lines)


def paired(these: Sequence[Turn], those: Sequence[Turn], what: str) -> float:
    return median(getattr(a, what) / getattr(b, what) for a, b in zip(these, those, strict=True))


def turn_of(calls: HttpCalls, pid: int, seconds: float = 0.4) -> Callable[[], Turn]:
    def turn() -> Turn:
        p50 = median(calls.one() for _ in range(ONE_BY_ONE))
        before = computed(pid)
        done, spent = calls.many(IN_FLIGHT, seconds)
        return Turn(p50, done / spent, (computed(pid) - before) / done)

    return turn


# The child alone


@contextlib.contextmanager
def direct(seconds: float = 0.2) -> Generator[Direct]:
    """The child on pipes, without anything between."""
    process = subprocess.Popen(CHILD, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    assert process.stdin is not None
    assert process.stdout is not None
    requests = cycle(
        b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":'
        b'{"message":"one of many %04d"}}}\n' % (each, each)
        for each in range(1_000)
    )
    out, answers = process.stdin, open(process.stdout.fileno(), "rb", closefd=False)  # noqa: SIM115

    def one() -> float:
        began = time.perf_counter()
        out.write(next(requests))
        answers.readline()
        return time.perf_counter() - began

    def turn() -> Turn:
        p50 = median(one() for _ in range(ONE_BY_ONE))
        before, began, done = computed(process.pid), time.perf_counter(), 0
        for _ in range(IN_FLIGHT):
            out.write(next(requests))
        while time.perf_counter() - began < seconds:
            answers.readline()
            out.write(next(requests))
            done += 1
        spent = time.perf_counter() - began
        for _ in range(IN_FLIGHT):
            answers.readline()
        return Turn(p50, done / spent, (computed(process.pid) - before) / done)

    try:
        yield Direct(turn, one)
    finally:
        process.stdin.close()
        process.wait(PATIENCE_S)


# A gateway


@contextlib.contextmanager
def gateway(
    folder: Path, tree: Path, database: str = "", gate: str = ""
) -> Generator[tuple[int, subprocess.Popen[bytes]]]:
    """The Switchboard of a checkout, served over HTTP; gives its port."""
    home = folder / "home"
    home.mkdir(parents=True)
    (folder / "work").mkdir()
    if gate:
        (home / ".switchboard").mkdir()
        guard = f"guard = {'true' if gate == 'on' else 'false'}\n"
        (home / ".switchboard" / "config.toml").write_text(guard, "utf-8")
    config = home / "servers.json"
    servers = {"c0": {"command": CHILD[0], "args": list(CHILD[1:])}}
    config.write_text(json.dumps({"mcpServers": servers}), "utf-8")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    words = ["serve", "--http", "--host", "127.0.0.1", "--port", str(port)]
    env = {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "TMPDIR": str(folder),
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(tree / "src"),
        "SWITCHBOARD_TOKEN": TOKEN,
        "SWITCHBOARD_IN_PROCESS": "1",
    }
    if database:
        env |= {
            "SWITCHBOARD_DB": database,
            "SWITCHBOARD_TEAM_KEY": "a-key-for-the-bench-only-on-loopback-1",
        }
    process = subprocess.Popen(
        [
            *os.environ.get("HTTP_ROAD_UNDER", "").split(),
            *(sys.executable, "-c", "from switchboard.cli.main import main; main()"),
            *(*words, "--config", str(config)),
        ],
        cwd=folder / "work",
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=(folder / "stderr").open("wb"),
    )
    try:
        end = time.monotonic() + PATIENCE_S * 4
        while not _listens(port):
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError((folder / "stderr").read_text("utf-8"))
            select.select([], [], [], 0.05)
        yield port, process
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except OSError:
        return False
    return True


# Many sessions


def hold_sessions(root: Path, trees: Sequence[Path], count: int, database: str) -> None:
    """Hold sessions open, and call through them at a steady pace."""
    for number, tree in enumerate(trees):
        for kind in ("", database) if database and not number else ("",):
            with contextlib.ExitStack() as stack:
                where = root / f"{number}{'team' if kind else ''}"
                port, process = stack.enter_context(gateway(where, tree, kind))
                HttpCalls(port, TOKEN, HANDSHAKE, stack).warm(300)
                before = resident(process.pid)
                sessions = [HttpCalls(port, TOKEN, HANDSHAKE, stack) for _ in range(count)]
                opened = resident(process.pid)
                for each in sessions:
                    each.one()
                held = resident(process.pid)
                spent, used = list(_paced(sessions)), computed(process.pid)
                cuts = quantiles(spent, n=100)
                name = f"{'here' if not number else tree.name}{' PostgreSQL' if kind else ''}"
                print(
                    f"{name}: {count} sessions, {len(spent)} calls at {CALLS_A_SECOND} a second:"
                    f" p50 {cuts[49] * 1e3:.2f} ms, p99 {cuts[98] * 1e3:.2f} ms; memory a session"
                    f" {(opened - before) / count / 1024:.1f} KiB, after a call"
                    f" {(held - before) / count / 1024:.1f} KiB; processor {used:.1f} s in all;"
                    f" load {os.getloadavg()[0]:.1f}"
                )
    with direct() as alone:
        cuts = quantiles(_one_by_one(alone.one), n=100)
        print(f"direct, at the same pace: p50 {cuts[49] * 1e3:.3f} ms, p99 {cuts[98] * 1e3:.2f} ms")


def _one_by_one(one: Callable[[], float], seconds: float = 20.0) -> Iterator[float]:
    """Calls at the same pace, one after the other; gives the seconds from when each was due."""
    began = time.perf_counter()
    for number in range(int(seconds * CALLS_A_SECOND)):
        due = began + number / CALLS_A_SECOND
        while (left := due - time.perf_counter()) > 0:
            select.select([], [], [], left)
        one()
        yield time.perf_counter() - due


def _paced(sessions: Sequence[HttpCalls], seconds: float = 20.0) -> Iterator[float]:
    """Calls that begin on time whatever the others do; gives the seconds of each."""
    waiting = select.epoll()
    begun: dict[int, tuple[float, HttpCalls]] = {}
    began, launched = time.perf_counter(), 0
    idle = cycle(sessions)
    while (now := time.perf_counter()) < began + seconds or begun:
        due = int(min(now - began, seconds) * CALLS_A_SECOND)
        while launched < due:
            each = next(idle)
            number = each.first.fileno()
            if number in begun:
                continue
            # It counts from when it was due.
            begun[number] = (began + (launched + 1) / CALLS_A_SECOND, each)
            waiting.register(number, select.EPOLLIN)
            each.first.sendall(each.next_request())
            launched += 1
        for number, _ in waiting.poll(0.001):
            due_at, each = begun.pop(number)
            each.read(each.first)
            waiting.unregister(number)
            yield time.perf_counter() - due_at


if __name__ == "__main__":
    sys.exit(main())
