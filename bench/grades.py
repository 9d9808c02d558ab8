"""How the tools of real servers fall into grades of risk, and which of them ask.

    .venv/bin/python bench/grades.py SERVERS.json

The file has `mcpServers`, as hosts write it. Without one, the servers of the tests are asked.
"""

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from switchboard.approvals.risk import asks, assess, may_last
from switchboard.children.listings.listing import ToolEntry
from switchboard.core.launches import Launch
from switchboard.core.tools import Effects, ToolSpec

CHECKOUT = Path(__file__).parents[1]
NODE = CHECKOUT / "tests" / "node" / "node_modules" / "@modelcontextprotocol"
SCRIPTS = Path(sys.prefix) / "bin"
OFFLINE: dict[str, Any] = {
    "everything": {"command": "node", "args": [f"{NODE}/server-everything/dist/index.js"]},
    "fetch": {"command": f"{SCRIPTS}/mcp-server-fetch"},
    "filesystem": {"command": "node", "args": [f"{NODE}/server-filesystem/dist/index.js", "."]},
    "git": {"command": f"{SCRIPTS}/mcp-server-git"},
    "memory": {"command": "node", "args": [f"{NODE}/server-memory/dist/index.js"]},
    "time": {"command": f"{SCRIPTS}/mcp-server-time"},
}
GRADES = ("high", "medium", "low")
VERSION = "2025-11-25"
CLIENT = {"name": "grades", "version": "1"}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", nargs="?", type=Path, metavar="SERVERS.json")
    file: Path | None = parser.parse_args().file
    servers = json.loads(file.read_text("utf-8"))["mcpServers"] if file else OFFLINE
    print("| server | tools | ask | HIGH | MEDIUM | LOW | may have a lasting rule |")
    print("|---|---|---|---|---|---|---|")
    total: Counter[str] = Counter()
    for name, entry in servers.items():
        try:
            counted = count(name, listed(entry))
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            continue
        total += counted
        print(row(name, counted))
    print(row("all", total))
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


def listed(entry: dict[str, Any]) -> list[ToolEntry]:
    """Start a server, and ask it for its tools."""
    env = {**os.environ, **entry.get("env", {})}
    command = [entry["command"], *entry.get("args", ())]
    with (
        TemporaryDirectory() as folder,
        subprocess.Popen(
            command,
            cwd=folder,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as server,
    ):
        try:
            return list(_pages(server))
        finally:
            server.kill()


def _pages(server: "subprocess.Popen[bytes]") -> Iterator[ToolEntry]:
    hello = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": CLIENT}
    _asked(server, "initialize", hello)
    _say(server, {"method": "notifications/initialized"})
    params: dict[str, Any] = {}
    while True:
        result = _asked(server, "tools/list", params)
        for each in result["tools"]:
            yield msgspec.json.decode(msgspec.json.encode(each), type=ToolEntry)
        if not result.get("nextCursor"):
            return
        params = {"cursor": result["nextCursor"]}


def _asked(server: "subprocess.Popen[bytes]", method: str, params: dict[str, Any]) -> Any:
    _say(server, {"id": method, "method": method, "params": params})
    assert server.stdout is not None
    for line in server.stdout:
        if line.startswith(b"{") and (message := json.loads(line)).get("id") == method:
            return message["result"]
    raise ValueError(f"it ended before it answered {method}")


def _say(server: "subprocess.Popen[bytes]", message: dict[str, Any]) -> None:
    assert server.stdin is not None
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    server.stdin.flush()


if __name__ == "__main__":
    sys.exit(main())
