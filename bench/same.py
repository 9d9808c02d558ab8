"""Say whether a client sees the same of real servers directly and behind Switchboard.

    .venv/bin/python bench/same.py --into DIR            # install the servers of servers.toml
    .venv/bin/python bench/same.py --servers DIR         # compare; --readme writes the table
    .venv/bin/python bench/same.py --servers DIR --only git,time --all
    .venv/bin/python bench/same.py --only memory --ways "suite, handshake" --check

Each server is asked the same (its listings, calls, a wrong name, wrong arguments, a prompt,
resources, a call that is cancelled) directly, twice, and then behind Switchboard: with its own
names in the handshake era, in this process; the same in the modern era, through the daemon; as a
suite in both. What differs between the two direct runs, like times, counts by its type only.
Loopback only. `--all` shows the differences that are meant, too.
"""

import argparse
import contextlib
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Generator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from gauge.comparison import Difference, as_subtools, compared
from gauge.link import Json, LinkLostError, as_list, as_object, encode
from gauge.page import page
from gauge.readme import README, write_between
from gauge.real_servers import RealServer, packages, path, prepare, real_servers
from gauge.row import SCRIPTS
from gauge.script import CAPABILITIES, Steps, answers, follow
from gauge.talk import Talk, talking
from gauge.trust import trust_workspace

BEGIN, END = "<!-- same: written by same.py --readme -->\n", "<!-- end of same -->\n"
CLIENT = "bench"
_SHOWN = 160
_START_S = 60.0
_LISTED = ("tools", "prompts", "resources", "resources/templates")


class Way(NamedTuple):
    """One way of asking a server."""

    name: str
    is_modern: bool = False
    is_suite: bool = False
    has_daemon: bool = False
    results: str = "json"


WAYS = (
    Way("own names, handshake"),
    Way("own names, modern", is_modern=True, has_daemon=True),
    Way("suite, handshake", is_suite=True),
    Way("suite, modern", is_modern=True, is_suite=True, has_daemon=True, results="passthrough"),
)


class Compared(NamedTuple):
    """One server: whether it speaks the modern era itself, and what differs in each way."""

    name: str
    is_modern: bool
    tools: int
    differences: dict[str, list[Difference]]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--into", type=Path, metavar="DIR", help="install, and compare nothing")
    parser.add_argument("--servers", type=Path, metavar="DIR", help="compare those there, too")
    parser.add_argument("--only", default="", metavar="NAME,…", help="only these servers")
    parser.add_argument("--all", action="store_true", help="show what is meant to differ, too")
    parser.add_argument("--ways", default="", metavar="WAY;…", help="only these ways")
    parser.add_argument("--check", action="store_true", help="end with 1 if one is not equal")
    parser.add_argument("--readme", action="store_true", help="write the table into the README")
    options = parser.parse_args()
    if options.into is not None:
        below = options.into.resolve()
        missing = [each.server for each in packages() if not each.install(below)]
        print(f"not installed: {', '.join(missing)}" if missing else "all are there")
        return 1 if missing else 0
    below = options.servers.resolve() if options.servers is not None else None
    only: set[str] = set(filter(None, str(options.only).split(",")))
    named: set[str] = set(filter(None, str(options.ways).split(";")))
    ways = [way for way in WAYS if not named or way.name in named]
    found: list[Compared] = []
    with TemporaryDirectory(prefix="same-") as folder, page() as url:
        scratch = Path(folder) / "scratch"
        for server in real_servers(scratch, url, below):
            if only and server.name not in only:
                continue
            found.append(compared_server(server.name, Path(folder), url, below, ways))
            show(found[-1], with_meant=options.all)
    report = table(found, ways)
    print(report)
    if options.readme:
        write_between(README, report, BEGIN, END)
    is_equal = bool(found) and all(_verdict(each) == "equal" for each in found)
    return 1 if options.check and not is_equal else 0


def compared_server(
    name: str, folder: Path, url: str, below: Path | None, ways: Sequence[Way]
) -> Compared:
    """Ask one server in these ways. One that fails directly as well differs in nothing."""
    # Always at the same place: what a server says may name it.
    workspace = folder / "ws"

    @contextlib.contextmanager
    def fresh() -> Generator[tuple[RealServer, dict[str, str]]]:
        with TemporaryDirectory(prefix="same-home-") as home:
            prepare(workspace)
            found = next(s for s in real_servers(workspace, url, below) if s.name == name)
            env = {"PATH": path(), "HOME": home, "LANG": "C.UTF-8", "USER": "u", "SHELL": "/bin/sh"}
            try:
                yield found, env
            finally:
                subprocess.run(("rm", "-rf", str(workspace)), check=True)

    def direct(*, is_modern: bool) -> Steps | None:
        with fresh() as (server, env):
            environ = {**env, **server.env}
            with talking(server.command, workspace, environ) as talk:
                about = greeted(talk, workspace, is_modern=is_modern)
                return None if about is None else follow(talk, server, about)

    def behind(way: Way) -> Steps:
        with fresh() as (server, env), serving(way, server, workspace, env) as talk:
            about = greeted(talk, workspace, is_modern=way.is_modern)
            assert about is not None, "Switchboard speaks both eras"
            suite = ""
            if way.is_suite:
                [suite] = (each["name"] for each in talk.ask("tools/list", {})["result"]["tools"])
            return follow(talk, server, about, suite)

    unsteady = next(s for s in real_servers(workspace, url, below) if s.name == name).unsteady
    plain, again = direct(is_modern=False), direct(is_modern=False)
    assert plain is not None
    assert again is not None
    try:
        modern = direct(is_modern=True) if any(way.is_modern for way in ways) else None
    except LinkLostError:
        modern = None
    differences: dict[str, list[Difference]] = {}
    for way in ways:
        base = modern if way.is_modern and modern else plain
        try:
            steps = behind(way)
        except LinkLostError as error:
            differences[way.name] = [Difference("start", "", "it works", str(error))]
            continue
        sides = _comparable(way, base, again, steps)
        differences[way.name] = list(compared(*sides, unsteady))
    listed = as_list(as_object(plain["tools"].get("result")).get("tools"))
    return Compared(name, modern is not None, len(listed), differences)


def _comparable(way: Way, base: Steps, again: Steps, steps: Steps) -> tuple[Steps, Steps, Steps]:
    """What a suite does not tell by design is left out of the direct side."""
    if not way.is_suite:
        return base, again, steps
    return (
        {**base, "tools": as_subtools(base["tools"])},
        {**again, "tools": as_subtools(again["tools"])},
        steps,
    )


def greeted(talk: Talk, workspace: Path, *, is_modern: bool) -> Json | None:
    """Begin in an era; None where the server is not of it."""
    talk.answer = answers(workspace)
    if is_modern:
        return talk.discover(CLIENT, CAPABILITIES)
    return talk.greet(CLIENT, CAPABILITIES)


@contextlib.contextmanager
def serving(way: Way, server: RealServer, workspace: Path, env: dict[str, str]) -> Generator[Talk]:
    """Switchboard with this one server."""
    home = Path(env["HOME"]) / ".switchboard"
    home.mkdir()
    (home / "config.toml").write_text(
        f'guard = false\n[results]\nmode = "{way.results}"\n'
        "[timeouts]\nchild_spawn_ms = 60000\nrpc_ms = 300000\n",
        "utf-8",
    )
    entry: Json = dict(server.entry)
    if not way.is_suite:
        entry["expose"] = "tools"
    (home / "mcp.json").write_text(encode({"mcpServers": {server.name: entry}}), "utf-8")
    program = str(SCRIPTS / "switchboard")
    # Servers start in a folder that is trusted, as they do directly, and not in one of their own.
    trust_workspace(program, workspace, env["HOME"], env["PATH"])
    command = (program, "mcp", *(() if way.has_daemon else ("--in-process",)))
    try:
        if not way.is_suite:
            # What it says of its use is known to whoever begins after it ran.
            with talking(command, workspace, env) as talk:
                # The same client: some servers show tools to those that have roots.
                greeted(talk, workspace, is_modern=True)
                await_listings(talk)
        with talking(command, workspace, env) as talk:
            yield talk
    finally:
        if way.has_daemon:
            subprocess.run((program, "daemon", "stop"), env=env, capture_output=True, check=False)


def await_listings(talk: Talk) -> None:
    """Wait until the server has listed all that it has: on a busy machine that takes a while.

    Of a listing that is not worth keeping the modern era says so.
    """
    until = time.monotonic() + _START_S
    while time.monotonic() < until:
        listed = [as_object(talk.ask(f"{kind}/list", {})["result"]) for kind in _LISTED]
        if listed[0]["tools"] and all(each.get("ttlMs") for each in listed):
            return
        time.sleep(0.5)


def show(found: Compared, *, with_meant: bool) -> None:
    """Say what differs, while the others are still to come."""
    print(f"{found.name}: {_verdict(found)}", file=sys.stderr, flush=True)
    for way, differences in found.differences.items():
        for each in differences:
            if each.meant and not with_meant:
                continue
            print(f"   {way}: {each.step} {each.place} {each.meant}", file=sys.stderr)
            for side, value in (("direct", each.direct), ("behind", each.behind)):
                print(f"      {side} {encode(value)[:_SHOWN]}", file=sys.stderr)


def _verdict(found: Compared) -> str:
    unequal = [way for way, each in found.differences.items() if any(not d.meant for d in each)]
    return f"differs ({'; '.join(unequal)})" if unequal else "equal"


def table(found: list[Compared], ways: Sequence[Way]) -> str:
    """A row for each server, and how often each difference that is meant was seen."""
    lines = ["| server | era | tools | " + " | ".join(way.name for way in ways) + " |"]
    lines.append("|---|---|--:|" + "---|" * len(ways))
    meant: Counter[str] = Counter()
    for each in found:
        cells: list[str] = []
        for way in ways:
            differences = each.differences[way.name]
            meant.update(one.meant for one in differences if one.meant)
            steps = sorted({one.step for one in differences if not one.meant})
            cells.append(", ".join(steps) or "equal")
        era = "modern" if each.is_modern else "handshake"
        lines.append(f"| {each.name} | {era} | {each.tools} | {' | '.join(cells)} |")
    equal = sum(_verdict(each) == "equal" for each in found)
    tools = sum(each.tools for each in found)
    lines += ["", f"{equal} of {len(found)} servers, with {tools} tools, are equal in every way."]
    lines += ["", "Meant to differ, and how often it was seen:", ""]
    lines += [f"- {words}: {count}" for words, count in meant.most_common()]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
