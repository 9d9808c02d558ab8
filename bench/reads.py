"""What a model reads through a suite, as a multiple of what it reads directly. Tokens of o200k.

    .venv/bin/python bench/same.py --into DIR              # install the servers of servers.toml
    .venv/bin/python bench/reads.py --servers DIR          # measure; --readme writes the tables

Without `--servers` only the servers of the tests are measured. A model reads what hosts give it:
the structured content of a result if it has some, else its texts. Loopback only.
"""

import argparse
import contextlib
import functools
import shutil
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from bpe_openai import get_encoding
from gauge.link import Json, LinkLostError, encode
from gauge.page import page
from gauge.readme import README, write_between
from gauge.real_servers import RealServer, path, prepare, real_servers
from gauge.row import SCRIPTS
from gauge.talk import Talk, talking

_PIECE = 100_000
_MOST_TOKENS = 20_000
MODES = ("passthrough", "compact", "json")
HOSTS = {"claude-code": "claude-code", "codex": "codex-mcp-client", "others": "bench"}
BEGIN, END = "<!-- reads: written by reads.py --readme -->\n", "<!-- end of reads -->\n"


class Reading(NamedTuple):
    """One server: tokens of its calls directly and in each mode, and of what tells of its tools."""

    name: str
    calls: int
    direct: int
    modes: dict[str, int]
    tools: int
    listing: int
    # By what is asked for: the answer with all schemas, `auto`, and `summary` in each host.
    introspections: dict[str, int]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--servers", type=Path, metavar="DIR", help="measure those there, too")
    parser.add_argument("--only", default="", metavar="NAME,…", help="only these servers")
    parser.add_argument("--readme", action="store_true", help="write the tables into the README")
    options = parser.parse_args()
    more = options.servers.resolve() if options.servers is not None else None
    only: set[str] = set(filter(None, str(options.only).split(",")))
    with TemporaryDirectory(prefix="reads-") as folder, page() as url:
        readings = list(measured(Path(folder), url, more, only))
    report = tables(readings)
    print(report)
    if options.readme:
        write_between(README, report, BEGIN, END)
    return 0


def measured(folder: Path, url: str, more: Path | None, only: set[str]) -> Iterator[Reading]:
    """Every server that answers, directly and behind Switchboard."""
    for server in real_servers(folder / "scratch", url, more):
        if only and server.name not in only:
            continue
        try:
            found = reading(server.name, folder, url, more)
            print(f"{found.name}: {found.direct} {found.modes}", file=sys.stderr, flush=True)
            yield found
        except LinkLostError as error:
            print(f"{server.name}: left out: {error}", file=sys.stderr)


def reading(name: str, folder: Path, url: str, more: Path | None) -> Reading:
    def prepared() -> tuple[RealServer, Path, dict[str, str]]:
        # Made anew for each way of asking, since calls change it; always at the same place, since
        # answers name it.
        workspace, home = folder / "ws", folder / "home"
        for each in (workspace, home):
            shutil.rmtree(each, ignore_errors=True)
        prepare(workspace)
        home.mkdir()
        server = next(s for s in real_servers(workspace, url, more) if s.name == name)
        env = {"PATH": path(), "HOME": str(home), "LANG": "C.UTF-8", **server.env}
        return server, workspace, env

    server, workspace, env = prepared()
    with talking(server.command, workspace, env) as talk:
        talk.greet("bench")
        listed = talk.ask("tools/list", {}).get("result", {}).get("tools", [])
        read = [(call, read_of(talk.ask("tools/call", _direct(call)))) for call in server.calls]
    # One that fills a context would hide what the others cost.
    asked = [call for call, tokens in read if tokens <= _MOST_TOKENS]
    direct = [tokens for _, tokens in read if tokens <= _MOST_TOKENS]
    modes = {}
    for mode in MODES:
        with suite(*prepared(), settings=f'[results]\nmode = "{mode}"\n') as (talk, tool):
            modes[mode] = sum(read_of(talk.ask("tools/call", _call(tool, c))) for c in asked)
    introspections: dict[str, int] = {}
    for way, host in (("auto", "bench"), *HOSTS.items()):
        setting = "auto" if way == "auto" else "summary"
        with suite(*prepared(), introspection=setting, host=host) as (talk, tool):
            wanted = {"name": tool, "arguments": {"action": "introspect"}}
            introspections[way] = read_of(talk.ask("tools/call", wanted))
    return Reading(
        name=name,
        calls=len(asked),
        direct=sum(direct),
        modes=modes,
        tools=len(listed),
        listing=sum(tokens(encode(_read_tool(each))) for each in listed),
        introspections=introspections,
    )


@contextlib.contextmanager
def suite(
    server: RealServer,
    workspace: Path,
    env: dict[str, str],
    *,
    settings: str = "",
    introspection: str = "summary",
    host: str = "bench",
) -> Generator[tuple[Talk, str]]:
    """Switchboard with this one server, and the name of its suite."""
    home = Path(env["HOME"]) / ".switchboard"
    home.mkdir()
    (home / "config.toml").write_text(f"guard = false\n{settings}", "utf-8")
    servers = {"mcpServers": {server.name: server.entry}}
    (home / "mcp.json").write_text(encode(servers), "utf-8")
    own = {"introspection": {"mode": introspection}, "timeouts": {"childSpawnMs": 60_000}}
    (home / "switchboard.config.json").write_text(encode(own), "utf-8")
    command = (str(SCRIPTS / "switchboard"), "mcp", "--in-process")
    with talking(command, workspace, env) as talk:
        talk.greet(host)
        [tool] = talk.ask("tools/list", {})["result"]["tools"]
        yield talk, tool["name"]


def read_of(answer: Json) -> int:
    """The tokens that a model reads of an answer."""
    result = answer.get("result")
    if result is None:
        return tokens(answer["error"]["message"])
    if "structuredContent" in result:
        return tokens(encode(result["structuredContent"]))
    return sum(tokens(block.get("text", "")) for block in result.get("content", []))


def tokens(text: str) -> int:
    # The tokenizer takes no more at a time; a cut costs a token at most.
    pieces = (text[at : at + _PIECE] for at in range(0, len(text), _PIECE))
    return sum(len(_encoding().encode_ordinary(piece)) for piece in pieces)


@functools.cache
def _encoding():  # noqa: ANN202 - the library does not export its type
    return get_encoding("o200k_base")


def _direct(call: tuple[str, Json]) -> Json:
    return {"name": call[0], "arguments": call[1]}


def _call(tool: str, call: tuple[str, Json]) -> Json:
    return {
        "name": tool,
        "arguments": {"action": "call", "subtool": call[0], "args": call[1]},
    }


def _read_tool(tool: Json) -> Json:
    return {key: tool.get(key, "") for key in ("name", "description", "inputSchema")}


def tables(readings: list[Reading]) -> str:
    """The two tables, with sums."""
    calls, direct = sum(r.calls for r in readings), sum(r.direct for r in readings)
    lines = [
        "| server | calls | direct | " + " | ".join(f"`{mode}`" for mode in MODES) + " |",
        "|---|--:|--:|" + "--:|" * len(MODES),
    ]
    for each in readings:
        ratios = " | ".join(f"{each.modes[mode] / max(1, each.direct):.2f}" for mode in MODES)
        lines.append(f"| {each.name} | {each.calls} | {each.direct:,} | {ratios} |")
    sums = {mode: sum(r.modes[mode] for r in readings) / max(1, direct) for mode in MODES}
    ratios = " | ".join(f"**{sums[mode]:.2f}**" for mode in MODES)
    lines += [f"| all | {calls} | {direct:,} | {ratios} |", ""]
    heads = ["`auto`", *(f"`summary`, {host}" for host in HOSTS)]
    lines += [
        "| server | tools | direct listing | " + " | ".join(heads) + " |",
        "|---|--:|--:|" + "--:|" * len(heads),
    ]
    for each in readings:
        cells = " | ".join(f"{each.introspections[way]:,}" for way in ("auto", *HOSTS))
        lines.append(f"| {each.name} | {each.tools} | {each.listing:,} | {cells} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
