"""What it costs a model to list, discover and call one tool of the six reference servers.

    .venv/bin/python bench/surface.py             # one row for each surface; --readme writes them

Tokens of o200k, as a model reads and writes them: the listing (name, description and input schema
of each tool), the answer that tells how the tool is called, and the call itself. The figures are
means over the 46 of our own queries (`find_queries.json`) that a tool answers; they look for 43 of
the 51 tools. A trip is a turn of the model. Every surface is listed by a second session, when its
servers are known. The last two are listed by hosts with the settings that `setup` writes.
"""

import argparse
import contextlib
import functools
import json
import shutil
import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import NamedTuple

from bpe_openai import get_encoding
from gauge.link import Json, encode
from gauge.readme import README, write_between
from gauge.real_servers import path
from gauge.row import SCRIPTS
from gauge.talk import Talk, talking
from gauge.tokens import reference_servers

from switchboard.settings.writing.first_config import write_config

QUERIES = Path(__file__).parent / "find_queries.json"
BEGIN, END = "<!-- surface: written by surface.py --readme -->\n", "<!-- end of surface -->\n"
SIGNATURES = '[introspection]\nformat = "signatures"\n'
SURFACES = {
    "suites, JSON": "",
    "suites, signatures": SIGNATURES,
    "`lean`": f'surface_tokens = "lean"\n{SIGNATURES}',
    "`balanced`": f'surface_tokens = "balanced"\n{SIGNATURES}',
}
WRITTEN = {
    "as `setup` writes it, Claude Code": "claude-code",
    "the same, Codex": "codex-mcp-client",
}


class Wanted(NamedTuple):
    """A tool that somebody needs, and how they would put it."""

    query: str
    server: str
    name: str


class Cost(NamedTuple):
    """One surface, in tokens; the means of all that was wanted."""

    tools: int
    listing: int
    discover: float
    call: float
    trips: float

    @property
    def total(self) -> float:
        return self.listing + self.discover + self.call


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--readme", action="store_true", help="write the table into the README")
    options = parser.parse_args()
    asked = [Wanted(*each) for each in json.loads(QUERIES.read_text("utf-8")) if each[1]]
    with TemporaryDirectory(prefix="surface-") as folder:
        direct, schemas = direct_cost(Path(folder), asked)
        costs = {"direct": direct}
        for name, settings in SURFACES.items():
            costs[name] = measured(Path(folder), f"guard = false\n{settings}", asked, schemas)
        file = Path(folder) / "config.toml"
        write_config(str(file), "home")
        for name, client in WRITTEN.items():
            settings = file.read_text("utf-8")
            costs[name] = measured(Path(folder), settings, asked, schemas, client)
    report = table(costs)
    print(report)
    if options.readme:
        write_between(README, report, BEGIN, END)
    return 0


def direct_cost(folder: Path, asked: Sequence[Wanted]) -> tuple[Cost, dict[tuple[str, str], Json]]:
    """A client that connects to every server itself, and the schemas of all of its tools."""
    schemas: dict[tuple[str, str], Json] = {}
    listing = 0
    for name, server in reference_servers(folder / "files").items():
        with talking([server["command"], *server["args"]], folder, _env(folder)) as talk:
            talk.greet("bench")
            for tool in talk.ask("tools/list", {})["result"]["tools"]:
                listing += read_tokens(tool)
                schemas[_own(name), tool["name"]] = tool["inputSchema"]
    calls = [
        tokens(encode({"name": each.name, "arguments": example(schemas[each.server, each.name])}))
        for each in asked
    ]
    return Cost(len(schemas), listing, 0.0, mean(calls), 1.0), schemas


def measured(
    folder: Path,
    settings: str,
    asked: Sequence[Wanted],
    schemas: dict[tuple[str, str], Json],
    client: str = "bench",
) -> Cost:
    """One surface: each tool in the fewest trips that its listing allows."""
    home = folder / "home"
    shutil.rmtree(home, ignore_errors=True)
    (home / ".switchboard").mkdir(parents=True)
    (home / ".switchboard" / "config.toml").write_text(settings, "utf-8")
    servers = {_own(name): each for name, each in reference_servers(folder / "files").items()}
    (home / ".switchboard" / "mcp.json").write_text(encode({"mcpServers": servers}), "utf-8")
    with session(folder, client) as talk:
        for name in servers:
            answer(talk, f"{name}_suite", {"action": "introspect"})
    discover: list[int] = []
    calls: list[int] = []
    trips: list[int] = []
    with session(folder, client) as talk:
        tools = {each["name"]: each for each in talk.ask("tools/list", {})["result"]["tools"]}
        told = "\n".join(each["description"] for each in tools.values())
        # Servers tell more of themselves with their first introspection, once in a session.
        for name in servers:
            answer(talk, f"{name}_suite", {"action": "introspect"})
        for each in asked:
            suite, address = f"{each.server}_suite", f"{each.server}.{each.name}"
            arguments = example(schemas[each.server, each.name])
            if "call_tool" in tools:
                call = {"name": "call_tool", "arguments": {"tool": address, "args": arguments}}
                answers = [] if is_told(told, each) else searched(talk, each)
            else:
                inner = {"action": "call", "subtool": each.name, "args": arguments}
                call = {"name": suite, "arguments": inner}
                answers = [answer(talk, suite, {"action": "introspect"})]
            discover.append(sum(map(tokens, answers)))
            calls.append(tokens(encode(call)))
            trips.append(1 + len(answers))
    listing = sum(map(read_tokens, tools.values()))
    return Cost(len(tools), listing, mean(discover), mean(calls), mean(trips))


def searched(talk: Talk, wanted: Wanted) -> list[str]:
    """What a model reads until it knows the tool; a search in vain is read, too."""
    found = answer(talk, "find_tool", {"query": wanted.query})
    if f"{wanted.server}.{wanted.name}(" in found:
        return [found]
    return [found, answer(talk, f"{wanted.server}_suite", {"action": "introspect"})]


def is_told(listing: str, wanted: Wanted) -> bool:
    """Whether the listing itself says how the tool is called."""
    return f"{wanted.server}.{wanted.name}(" in listing


@contextlib.contextmanager
def session(folder: Path, client: str) -> Generator[Talk]:
    command = (str(SCRIPTS / "switchboard"), "mcp", "--in-process")
    (folder / "work").mkdir(exist_ok=True)
    with talking(command, folder / "work", _env(folder)) as talk:
        talk.greet(client)
        yield talk


def answer(talk: Talk, tool: str, arguments: Json) -> str:
    result = talk.ask("tools/call", {"name": tool, "arguments": arguments})["result"]
    return "".join(block.get("text", "") for block in result["content"])


def example(schema: Json) -> Json:
    """Arguments as short as the schema allows."""
    properties = schema.get("properties", {})
    return {name: _value(properties.get(name, {})) for name in schema.get("required", ())}


def _value(schema: Json) -> object:
    values: Json = {"string": "main", "integer": 5, "number": 5, "boolean": True, "array": ["main"]}
    if "enum" in schema:
        return schema["enum"][0]
    return values.get(schema.get("type", ""), Json())


def _own(name: str) -> str:
    return "files" if name == "filesystem" else name


def _env(folder: Path) -> dict[str, str]:
    return {"PATH": path(), "HOME": str(folder / "home"), "LANG": "C.UTF-8"}


def read_tokens(tool: Json) -> int:
    return tokens(
        encode({key: tool.get(key, "") for key in ("name", "description", "inputSchema")})
    )


def tokens(text: str) -> int:
    return len(_encoding().encode_ordinary(text)) if text else 0


@functools.cache
def _encoding():  # noqa: ANN202 - the library does not export its type
    return get_encoding("o200k_base")


def table(costs: dict[str, Cost]) -> str:
    whole = costs["direct"].total
    lines = [
        "| surface | tools | list | discover | call | total | saved | trips |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    lines += (
        f"| {name} | {each.tools} | {each.listing:,} | {each.discover:,.0f} | {each.call:.0f} |"
        f" {each.total:,.0f} | {1 - each.total / whole:.1%} | {each.trips:.1f} |"
        for name, each in costs.items()
    )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
