"""How the tools of real servers fall into grades of risk, and which of them ask.

    .venv/bin/python bench/grades.py --servers DIR       # those that same.py --into DIR installed
    .venv/bin/python bench/grades.py SERVERS.json        # those of a file that hosts read

Without either, the servers of the tests are asked. `--readme` writes the table. Loopback only.
"""

import argparse
import json
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from gauge.link import LinkLostError, as_list, as_object
from gauge.page import page
from gauge.readme import README, write_between
from gauge.real_servers import path, prepare, real_servers
from gauge.script import CAPABILITIES, answers
from gauge.talk import talking

from switchboard.approvals.risk import asks, assess, may_last
from switchboard.children.listings.listing import ToolEntry
from switchboard.core.calls.launches import Launch
from switchboard.core.catalog.tools import Effects, ToolSpec

BEGIN, END = "<!-- grades: written by grades.py --readme -->\n", "<!-- end of grades -->\n"
GRADES = ("high", "medium", "low")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", nargs="?", type=Path, metavar="SERVERS.json")
    parser.add_argument("--servers", type=Path, metavar="DIR", help="ask those there, too")
    parser.add_argument("--readme", action="store_true", help="write the table into the README")
    options = parser.parse_args()
    below = options.servers.resolve() if options.servers is not None else None
    lines = [
        "| server | tools | ask | HIGH | MEDIUM | LOW | may have a lasting rule |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    total: Counter[str] = Counter()
    with TemporaryDirectory(prefix="grades-") as folder, page() as url:
        workspace = Path(folder) / "ws"
        prepare(workspace)
        entries: dict[str, Any] = (
            json.loads(options.file.read_text("utf-8"))["mcpServers"]
            if options.file
            else {each.name: each.entry for each in real_servers(workspace, url, below)}
        )
        for name, entry in entries.items():
            try:
                counted = count(name, list(listed(entry, workspace, Path(folder) / "home")))
            except (OSError, KeyError, LinkLostError) as error:
                print(f"{name}: left out: {error}", file=sys.stderr)
                continue
            total += counted
            lines.append(row(name, counted))
            print(lines[-1], file=sys.stderr, flush=True)
    lines.append(row("all", total))
    report = "\n".join(lines)
    print(report)
    if options.readme:
        write_between(README, report, BEGIN, END)
    return 0


def row(name: str, counted: Counter[str]) -> str:
    cells = ("tools", "ask", *GRADES, "rule")
    return f"| {name} | {' | '.join(str(counted[each]) for each in cells)} |"


def count(server: str, tools: list[ToolEntry]) -> Counter[str]:
    """Count what a person would be asked, and in which words."""
    counted: Counter[str] = Counter()
    for tool in tools:
        spec = ToolSpec(
            name=tool.name,
            provider="suites",
            title=tool.title or "",
            description=tool.description or "",
            input_schema=tool.input_schema,
            effects=tool.annotations.effects if tool.annotations else Effects(),
        )
        launch = Launch(tool=spec, server=server, fingerprint="", runs="", cwd="/")
        risk = assess(launch)
        counted["tools"] += 1
        counted[risk.level] += 1
        if asks(launch, risk):
            counted["ask"] += 1
            counted["rule"] += may_last(launch)
    return counted


def listed(entry: Mapping[str, Any], workspace: Path, home: Path) -> Iterator[ToolEntry]:
    """Start a server, and ask it for its tools. Raises LinkLostError, KeyError."""
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    env = {"PATH": path(), "HOME": str(home), "LANG": "C.UTF-8", **entry.get("env", {})}
    with talking((entry["command"], *entry.get("args", ())), workspace, env) as talk:
        talk.answer = answers(workspace)
        talk.greet("grades", CAPABILITIES)
        params: dict[str, Any] = {}
        while True:
            result = talk.ask("tools/list", params)["result"]
            for each in as_list(result.get("tools")):
                yield msgspec.json.decode(msgspec.json.encode(as_object(each)), type=ToolEntry)
            if not result.get("nextCursor"):
                return
            params = {"cursor": result["nextCursor"]}


if __name__ == "__main__":
    sys.exit(main())
