"""How long the first `claude -p hello` takes with many real servers, and the later ones.

    .venv/bin/python bench/first.py --servers DIR        # those that same.py --into DIR installed

The real Claude Code of the tests runs one prompt against a model on loopback, with every server as
its own and then behind Switchboard, in turns. `first` has a home in which nothing was ever started,
`later` the same home again, with the daemon running. `--readme` writes the table. Loopback only.
"""

import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from gauge.page import page
from gauge.readme import README, write_between
from gauge.real_servers import RealServer, path, prepare, real_servers
from gauge.row import BENCH, SCRIPTS
from gauge.trust import trust_workspace

sys.path.insert(0, str(BENCH.parent / "tests"))
from support.hosts import claude_program
from support.models.messages import messages_model
from support.models.script import say

BEGIN, END = "<!-- first: written by first.py --readme -->\n", "<!-- end of first -->\n"
PROMISE = 0.5
PATIENCE_S = 600
# How long Claude Code waits for one server.
CONNECT_S = 60
PROGRAM = str(SCRIPTS / "switchboard")


class Round(NamedTuple):
    """Seconds of one round."""

    direct: float
    first: float
    later: tuple[float, ...]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--servers", type=Path, metavar="DIR", help="use those there, too")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--later", type=int, default=3, help="how many runs after the first one")
    parser.add_argument("--only", default="", metavar="NAME,…", help="only these servers")
    parser.add_argument("--readme", action="store_true", help="write the table into the README")
    options = parser.parse_args()
    below = options.servers.resolve() if options.servers is not None else None
    only: set[str] = set(filter(None, str(options.only).split(",")))
    rounds: list[Round] = []
    with TemporaryDirectory(prefix="first-") as folder, page() as url:
        count = 0
        for number in range(options.rounds):
            place = Path(folder) / str(number)
            prepare(place / "ws")
            servers = real_servers(place / "ws", url, below)
            servers = [each for each in servers if not only or each.name in only]
            count = len(servers)
            rounds.append(measured(place, servers, options.later))
            print(f"{rounds[-1]}", file=sys.stderr, flush=True)
    report = table(rounds, count)
    print(report)
    if options.readme:
        write_between(README, report, BEGIN, END)
    return 0


def measured(place: Path, servers: list[RealServer], later: int) -> Round:
    """Every way once, each with a home of its own."""
    entries = {each.name: each.entry for each in servers}
    direct = hello(place, "direct", entries)
    home = place / "behind"
    settings = home / ".switchboard"
    settings.mkdir(parents=True)
    (settings / "mcp.json").write_text(json.dumps({"mcpServers": entries}), "utf-8")
    trust_workspace(PROGRAM, place / "ws", str(home), path())
    ours = {"switchboard": {"command": PROGRAM, "args": ["mcp"]}}
    try:
        first = hello(place, "behind", ours)
        rest = tuple(hello(place, "behind", ours) for _ in range(later))
    finally:
        env = {"HOME": str(home), "PATH": path()}
        subprocess.run((PROGRAM, "daemon", "stop"), env=env, capture_output=True, check=False)
    return Round(direct, first, rest)


def hello(place: Path, way: str, entries: Mapping[str, object]) -> float:
    """Seconds that one prompt takes from the start of Claude Code to its end."""
    home = place / way
    home.mkdir(exist_ok=True)
    with messages_model(say("hello")) as model:
        env = {
            "HOME": str(home),
            "PATH": path(),
            "LANG": "C.UTF-8",
            "SHELL": "/bin/sh",
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "loopback",
            "CLAUDE_CONFIG_DIR": str(home / "claude"),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            # It is to wait for its servers, as it does at a terminal before the first prompt.
            "MCP_CONNECTION_NONBLOCKING": "0",
            "MCP_TIMEOUT": str(CONNECT_S * 1000),
            "MCP_CONNECT_TIMEOUT_MS": str(CONNECT_S * 1000),
        }
        command = (
            *(str(claude_program("claude-modern")), "--print", "--no-session-persistence"),
            *("--model", "mock-model", "--setting-sources", "user", "--strict-mcp-config"),
            *("--mcp-config", json.dumps({"mcpServers": entries}), "--", "hello"),
        )
        began = time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=place / "ws",
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            out, _ = process.communicate(timeout=PATIENCE_S)
        finally:
            took = time.perf_counter() - began
            # What it started and left behind.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        if b"hello" not in out:
            raise SystemExit(f"Claude Code ended with {process.returncode}: {out.decode()[-500:]}")
        return took


def table(rounds: list[Round], count: int) -> str:
    """Medians, and the ratio round by round."""
    direct = statistics.median(each.direct for each in rounds)
    first = statistics.median(each.first for each in rounds)
    ratio = statistics.median(each.first / each.direct for each in rounds)
    later = [each for one in rounds for each in one.later]
    kept = "kept" if ratio <= PROMISE else "NOT kept"
    return "\n".join(
        (
            f"| `claude -p hello`, {count} servers, medians of {len(rounds)} rounds | s |",
            "|---|--:|",
            f"| its own servers | {direct:.1f} |",
            f"| behind Switchboard, first | {first:.1f} |",
            f"| behind Switchboard, later | {statistics.median(later):.1f} |",
            "",
            f"First ÷ its own, round by round: {ratio:.2f} (promise ≤ {PROMISE}, {kept}).",
        )
    )


if __name__ == "__main__":
    sys.exit(main())
