"""How long it takes to begin: from `git clone` to the first call, and from `setup` to a host.

    .venv/bin/python bench/moving_in.py            # `--readme` writes the table

Nothing is downloaded: what pip would fetch is linked from the environment of the tests. Codex is
the real one, asked by `setup` for its list of servers. Loopback only.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from gauge.readme import README, write_between
from gauge.row import BENCH, CHECKOUT, CHILD

sys.path.insert(0, str(BENCH.parent / "tests"))
from support.mcp_stdio import StdioClient, talking_to, text_of
from support.newcomer import Newcomer

BEGIN = "<!-- moving in: written by moving_in.py --readme -->\n"
END = "<!-- end of moving in -->\n"
SERVERS = 10
PROMISED_S = {"first call": 60, "host": 10}


class Round(NamedTuple):
    """Seconds of one round, each from its beginning."""

    cloned: float
    installed: float
    first_call: float
    set_up: float
    host: float
    all_servers: float


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--readme", action="store_true", help="write the table into the README")
    options = parser.parse_args()
    rounds: list[Round] = []
    for _ in range(options.rounds):
        with TemporaryDirectory(prefix="mi-", ignore_cleanup_errors=True) as folder:
            rounds.append(measured(Newcomer(Path(folder))))
        print(rounds[-1], file=sys.stderr, flush=True)
    middle = Round(*(statistics.median(each) for each in zip(*rounds, strict=True)))
    report = table(middle, len(rounds))
    print(report)
    if options.readme:
        write_between(README, report, BEGIN, END)
    kept = middle.first_call < PROMISED_S["first call"] and middle.host < PROMISED_S["host"]
    return 0 if kept else 1


def measured(somebody: Newcomer) -> Round:
    """One newcomer, from nothing to ten servers."""
    began = time.perf_counter()
    subprocess.run(
        ["git", "clone", "--quiet", CHECKOUT, somebody.clone], check=True, capture_output=True
    )
    cloned = time.perf_counter() - began
    somebody.types("uv tool install .", somebody.clone)
    installed = time.perf_counter() - began
    command = " ".join(CHILD)
    try:
        somebody.types(f"switchboard add --global calc -- {command} calc", somebody.home)
        somebody.runs("switchboard", "call", "calc", "echo", "message=hello")
        first_call = time.perf_counter() - began
        somebody.runs("switchboard", "remove", "calc", "--global")
        return Round(cloned, installed, first_call, *asyncio.run(moved(somebody)))
    finally:
        somebody.runs("switchboard", "daemon", "stop")


async def moved(somebody: Newcomer) -> tuple[float, float, float]:
    """`setup` of Codex with ten servers, and what Codex then starts."""
    file = somebody.home / ".codex" / "config.toml"
    file.parent.mkdir()
    program, *words = CHILD
    file.write_text(
        "".join(
            f"[mcp_servers.server{number}]\n"
            f"command = {json.dumps(program)}\nargs = {json.dumps([*words, f'server{number}'])}\n"
            for number in range(SERVERS)
        ),
        "utf-8",
    )
    began = time.perf_counter()
    shown = somebody.runs("switchboard", "setup", "codex", "--yes")
    assert "Codex lists it" in shown, shown
    set_up = time.perf_counter() - began
    ours = tomllib.loads(file.read_text("utf-8"))["mcp_servers"]["switchboard"]
    command = [ours["command"], *ours["args"]]
    async with talking_to(command, cwd=somebody.home, env=somebody.env) as client:
        await client.initialize()
        await client.tools()
        await echoed(client, 0)
        host = time.perf_counter() - began
        for number in range(1, SERVERS):
            await echoed(client, number)
    return set_up, host, time.perf_counter() - began


async def echoed(client: StdioClient, number: int) -> None:
    call = {"tool": f"server{number}.echo", "args": {"message": "hello"}}
    answer = await client.call("call_tool", call)
    assert "hello" in text_of(answer), answer


def table(middle: Round, rounds: int) -> str:
    rows = (
        ("`git clone`", middle.cloned, ""),
        ("`uv tool install .`, without downloads", middle.installed, ""),
        ("`switchboard add`, and the first call of its tool", middle.first_call, "60"),
    )
    lines = ["| from the beginning of `git clone` | s | promised |", "|---|---|---|"]
    lines += [f"| {what} | {took:.1f} | {promised} |" for what, took, promised in rows]
    lines += ["", f"| from the beginning of `setup`, with {SERVERS} servers | s | promised |"]
    lines += ["|---|---|---|"]
    rows = (
        ("`setup` has ended, and Codex lists us", middle.set_up, ""),
        ("what Codex starts has answered its first call", middle.host, "10"),
        ("each of the servers has answered one", middle.all_servers, ""),
    )
    lines += [f"| {what} | {took:.1f} | {promised} |" for what, took, promised in rows]
    return "\n".join([*lines, "", f"Medians of {rounds} rounds."])


if __name__ == "__main__":
    sys.exit(main())
