"""What a model reads through a suite, as a multiple of what it reads directly. Tokens of o200k.

    .venv/bin/python bench/reads.py --into DIR             # install further real servers there
    .venv/bin/python bench/reads.py --servers DIR          # measure; --readme writes the tables

Without `--servers` only the servers of the tests are measured. A model reads what hosts give it:
the structured content of a result if it has some, else its texts. Loopback only.
"""

import argparse
import contextlib
import functools
import http.server
import os
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from bpe_openai import get_encoding
from gauge.link import Json, LinkLostError, encode
from gauge.readme import README, write_between
from gauge.real_servers import PINNED, RealServer, node, prepare, real_servers
from gauge.row import SCRIPTS
from gauge.talk import Talk, talking

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
    parser.add_argument("--into", type=Path, metavar="DIR", help="install, and measure nothing")
    parser.add_argument("--servers", type=Path, metavar="DIR", help="measure those there, too")
    parser.add_argument("--readme", action="store_true", help="write the tables into the README")
    options = parser.parse_args()
    if options.into is not None:
        return install(options.into.resolve())
    more = options.servers.resolve() if options.servers is not None else None
    with TemporaryDirectory(prefix="reads-") as folder, page() as url:
        home = Path(folder)
        readings = list(measured(home, url, more))
    report = tables(readings)
    print(report)
    if options.readme:
        write_between(README, report, BEGIN, END)
    return 0


def install(folder: Path) -> int:
    """Install the pinned packages: those of Python apart, since they disagree about others."""
    npm = [each.requirement for each in PINNED if each.source == "npm"]
    (folder / "npm").mkdir(parents=True, exist_ok=True)
    quiet = ("--no-audit", "--no-fund", "--loglevel=error", "--prefix", str(folder / "npm"))
    subprocess.run(("npm", "install", *quiet, *npm), check=True)
    for each in PINNED:
        if each.source == "pypi":
            own = folder / "pypi" / each.name
            subprocess.run((sys.executable, "-m", "venv", str(own)), check=True)
            pip = (str(own / "bin" / "python"), "-m", "pip", "--disable-pip-version-check")
            subprocess.run((*pip, "install", "--quiet", each.requirement, *each.needs), check=True)
    return 0


@contextlib.contextmanager
def page() -> Generator[str]:
    """A page on loopback for servers that fetch one."""

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = b"<html><body><h1>A page</h1><p>It has <b>some</b> words.</p></body></html>"
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()


def measured(folder: Path, url: str, more: Path | None) -> Iterator[Reading]:
    """Every server that answers, directly and behind Switchboard."""
    scratch = folder / "scratch"
    prepare(scratch)
    for server in real_servers(scratch, url, more):
        try:
            # A workspace of its own for each way of asking: calls change it.
            found = reading(server.name, folder / server.name, url, more)
            print(f"{found.name}: {found.direct} {found.modes}", file=sys.stderr)
            yield found
        except LinkLostError as error:
            print(f"{server.name}: left out: {error}", file=sys.stderr)


def reading(name: str, folder: Path, url: str, more: Path | None) -> Reading:
    def prepared(way: str) -> tuple[RealServer, Path, dict[str, str]]:
        workspace = folder / way / "ws"
        prepare(workspace)
        server = next(s for s in real_servers(workspace, url, more) if s.name == name)
        home = folder / way / "home"
        home.mkdir()
        path = os.pathsep.join((str(Path(node()).parent), os.environ.get("PATH", "")))
        env = {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", **dict(server.env)}
        return server, workspace, env

    server, workspace, env = prepared("direct")
    with talking(server.command, workspace, env) as talk:
        talk.greet("bench")
        listed = talk.ask("tools/list", {}).get("result", {}).get("tools", [])
        direct = [read_of(talk.ask("tools/call", _direct(call))) for call in server.calls]
    modes = {}
    for mode in MODES:
        with suite(*prepared(mode), settings=f'[results]\nmode = "{mode}"\n') as (talk, tool):
            modes[mode] = sum(read_of(talk.ask("tools/call", _call(tool, c))) for c in server.calls)
    introspections: dict[str, int] = {}
    for way, host in (("auto", "bench"), *HOSTS.items()):
        setting = "auto" if way == "auto" else "summary"
        with suite(*prepared(f"see-{way}"), introspection=setting, host=host) as (talk, tool):
            asked = {"name": tool, "arguments": {"action": "introspect"}}
            introspections[way] = read_of(talk.ask("tools/call", asked))
    return Reading(
        name=name,
        calls=len(server.calls),
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
    seen = {**dict(server.env), "PATH": env["PATH"]}
    entry: Json = {"command": server.command[0], "args": server.command[1:], "env": seen}
    servers = {"mcpServers": {server.name: entry}}
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
    return len(_encoding().encode_ordinary(text))


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
