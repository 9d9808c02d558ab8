"""What `make run` shows: Switchboard on `examples/workspace`, from the first look to real clients.

It trusts the example's servers, counts what their suites save, talks to `switchboard mcp` as a
client does, and leaves a Streamable HTTP endpoint and the page running until Ctrl-C. Everything
that it writes lies in `~/.cache/switchboard-example`, or where `EXAMPLE_STATE` says.
"""

import argparse
import itertools
import json
import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import textwrap
import urllib.error
import urllib.request
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

CHECKOUT = Path(__file__).resolve().parents[1]
WORKSPACE = CHECKOUT / "examples" / "workspace"
# Not in the folder that the example lies in: a repository must not choose what is trusted.
STATE = Path(os.environ.get("EXAMPLE_STATE") or Path.home() / ".cache" / "switchboard-example")
SHORTCUT = STATE / "sb"
PROGRAM = Path(sys.prefix) / "bin" / "switchboard"
LOOPBACK = "127.0.0.1"
PREFERRED_PORT = 8081
TOKEN_VARIABLE = "SWITCHBOARD_TOKEN"  # noqa: S105 - the name of a variable
START_S = 20.0
STOP_S = 10.0
# A word that nobody types.
MUCH = 40
# Of the terminal. What is to be copied is never broken, however long it is.
WIDTH = shutil.get_terminal_size((80, 24)).columns

Json = dict[str, Any]

HELLO: Json = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "example", "version": "1"},
}


class Failed(Exception):  # noqa: N818 - told to the user as it is
    """The demonstration cannot go on."""


class Client:
    """The smallest MCP client: one request after the other over the pipes of a process."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self._id = 0

    def request(self, method: str, params: Json) -> Json:
        self._id += 1
        self._send({"id": self._id, "method": method, "params": params})
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            message = json.loads(line)
            if message.get("id") == self._id:
                if "error" in message:
                    raise Failed(message["error"]["message"])
                return message["result"]
        raise Failed("switchboard ended before it answered")

    def notify(self, method: str) -> None:
        self._send({"method": method})

    def call(self, tool: str, arguments: Json) -> str:
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        return "".join(block.get("text", "") for block in result["content"])

    def _send(self, message: Json) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description="Show Switchboard at work.")
    parser.add_argument("--once", action="store_true", help="stop after the demonstration")
    parser.add_argument("--port", type=int, default=0, help="the port of the HTTP endpoint")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, _stop)
    try:
        demonstrate()
        with page() as opened:
            ports = (options.port,) if options.port else usual_ports()
            serve(ports, opened, once=options.once)
    except KeyboardInterrupt:
        print("\nstopped")
        return 0
    except Failed as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    return 0


def demonstrate() -> None:
    STATE.mkdir(parents=True, exist_ok=True)
    write_shortcut()
    heading("1. Trust the four servers of examples/workspace")
    # You run this yourself, so what is shown is agreed to; at a terminal `trust` asks.
    show_command("trust", only_table=True)
    tell(f"What each of them may do, in full: {shortcut('trust')}", "    ")
    show_command("trust", "--all", "--fingerprint", _shown_fingerprint())
    heading("2. What a model reads: every tool, or four suites")
    show_command("tokens")
    tell(
        "Four servers with 34 small tools cost so little that a session with `direct` need not be"
        " dearer than with the others, which pay for looking tools up. The LISTING of `direct`"
        " grows with every server that you add, and that of the others hardly at all."
    )
    heading("3. A client launches `switchboard mcp` and talks MCP to it")
    with talking() as client:
        client.request("initialize", HELLO)
        client.notify("notifications/initialized")
        for tool in client.request("tools/list", {})["tools"]:
            tell(f"{tool['name']:14} {tool['description']}", "  ", " " * 17)
        arguments: Json = {"action": "introspect", "subtool": "convert_units"}
        talk(client, "calc_suite", arguments)
        marathon = {"quantity": 26.2188, "source": "mi", "target": "km"}
        talk(client, "calc_suite", {"action": "call", "subtool": "convert_units", "args": marathon})


def talk(client: Client, tool: str, arguments: Json) -> None:
    print()
    tell(f"→ {tool} {json.dumps(arguments)}", "  ", "    ")
    tell(f"← {client.call(tool, arguments)}", "  ", "    ")


def serve(ports: Sequence[int], opened: Json, *, once: bool) -> None:
    heading("4. Streamable HTTP")
    with serving(ports) as (server, url):
        token = (home() / "http-token").read_text("utf-8").strip()
        check_endpoint(url, token)
        print(f"  {url} answers; without the token it refuses\n")
        heading("Clients that launch Switchboard themselves (stdio)")
        print("In Claude Code this example is:\n")
        print(f"  claude mcp add switchboard -- {shortcut('mcp')}\n")
        print("Your own servers get there with `switchboard setup`.\n")
        heading("Clients that connect to the endpoint above (HTTP)")
        print("They read its token from a variable. Type this where you start them:\n")
        print(f'  export {TOKEN_VARIABLE}="$(cat {short(home() / "http-token")})"\n')
        print("Claude Code:\n")
        # In single quotes: Claude Code fills the variable in, and keeps the token out of its file.
        header = f"'Authorization: Bearer ${{{TOKEN_VARIABLE}}}'"
        print(f"  claude mcp add --transport http switchboard {url} \\\n    --header {header}\n")
        print("Codex, in ~/.codex/config.toml:\n")
        print("  [mcp_servers.switchboard]")
        print(f'  url = "{url}"')
        print(f'  bearer_token_env_var = "{TOKEN_VARIABLE}"\n')
        tell_page(opened)
        if once:
            return
        print("Ctrl-C stops everything.", flush=True)
        code = server.wait()
    raise Failed(f"the endpoint ended with exit code {code}")


@contextmanager
def page() -> Generator[Json]:
    """What `switchboard open` says, and the daemon that serves the page until the block ends."""
    ours = with_daemon()
    done = subprocess.run(  # noqa: S603 - our own program
        command("open", "--no-browser", "--json"),
        env=ours,
        cwd=WORKSPACE,
        capture_output=True,
        check=False,
    )
    try:
        yield json.loads(done.stdout)
    finally:
        subprocess.run(  # noqa: S603 - our own program
            command("daemon", "stop"), env=ours, cwd="/", capture_output=True, check=False
        )


def tell_page(opened: Json) -> None:
    heading("The page: what runs, what waits for you, what was called")
    if not opened.get("link"):
        print(f"  not here: {opened['message']}\n")
        return
    print("This link logs your browser in, once, within five minutes:\n")
    print(f"  {opened['link']}\n")
    tell(f"Later this gives another one: {shortcut('open')}")
    print()
    print("Make a call in another terminal, and look into the queue of the page:\n")
    print(f"  {shortcut('call', 'notebook', 'add_note', 'title=Hello', 'body=World')}\n")
    print("To approve it the page asks for a code, which a terminal of yours gives:\n")
    print(f"  {shortcut('open', '--code')}\n")
    print("Then look for it under Calls.\n")


@contextmanager
def talking() -> Generator[Client]:
    """A client of a `switchboard mcp` that ends with it, and leaves no daemon behind."""
    with subprocess.Popen(  # noqa: S603 - our own program
        command("mcp", "--in-process"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(RUST_LOG="warn"),
        cwd=WORKSPACE,
    ) as process:
        try:
            yield Client(process)
        finally:
            stop(process)


@contextmanager
def serving(ports: Sequence[int]) -> Generator[tuple["subprocess.Popen[bytes]", str]]:
    """An endpoint and its address: on the first port that it gets, until the block ends."""
    for port in ports:
        with endpoint(port) as process:
            url = address_of(process)
            if url:
                yield process, url
                return
    text = (STATE / "serve.log").read_text("utf-8", "replace")
    raise Failed(f"the endpoint did not start:\n{text}")


@contextmanager
def endpoint(port: int) -> Generator["subprocess.Popen[bytes]"]:
    with (
        (STATE / "serve.log").open("wb") as log,
        subprocess.Popen(  # noqa: S603 - our own program
            command("serve", "--http", "--host", LOOPBACK, "--port", str(port)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            # In the daemon, so that the page shows it and whoever connects to it.
            env=with_daemon(),
            cwd=WORKSPACE,
        ) as process,
    ):
        try:
            yield process
        finally:
            stop(process)


def address_of(process: "subprocess.Popen[bytes]") -> str:
    """What it serves on, as it says itself; nothing when it ends before it listens.

    Whoever tried the port instead could meet somebody else there.
    """
    assert process.stdout is not None
    if not select.select([process.stdout], [], [], START_S)[0]:
        raise Failed(f"the endpoint does not listen after {START_S:g} s")
    return process.stdout.readline().decode().removeprefix("serving on ").strip()


def check_endpoint(url: str, token: str) -> None:
    """Shake hands over HTTP, with the token and without."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    data = json.dumps(body).encode()
    known = urllib.request.Request(  # noqa: S310 - our own loopback address
        url, data, {**headers, "Authorization": f"Bearer {token}"}
    )
    with urllib.request.urlopen(known, timeout=START_S) as answer:  # noqa: S310 - as above
        if b"serverInfo" not in answer.read():
            raise Failed("the endpoint answers, but not as an MCP server")
    stranger = urllib.request.Request(url, data, headers)  # noqa: S310 - as above
    try:
        urllib.request.urlopen(stranger, timeout=START_S).close()  # noqa: S310 - as above
    except urllib.error.HTTPError as refusal:
        refusal.close()
        return
    raise Failed("the endpoint answers without its token")


def show_command(*words: str, only_table: bool = False) -> None:
    """Run a command and show what it says, or only the table that this begins with."""
    typed = (word if len(word) < MUCH else f"{word[:8]}…" for word in words)
    print(f"  $ switchboard {' '.join(typed)}", flush=True)
    done = subprocess.run(  # noqa: S603 - our own program
        command(*words), env=environment(), cwd=WORKSPACE, capture_output=True, check=False
    )
    said = (done.stdout + done.stderr).decode().splitlines()
    for line in fitted(said[: said.index("")] if only_table and "" in said else said):
        tell(line, "    ", "      ")
    if done.returncode:
        raise Failed(f"`switchboard {' '.join(words)}` ended with exit code {done.returncode}")


def _shown_fingerprint() -> str:
    """What `switchboard trust` shows now, as one digest."""
    done = subprocess.run(  # noqa: S603 - our own program
        command("trust", "--json"),
        env=environment(),
        cwd=WORKSPACE,
        capture_output=True,
        check=True,
    )
    return json.loads(done.stdout)["fingerprint"]


def fitted(lines: list[str]) -> list[str]:
    """The rows of a table that is too wide, with its widest column cut."""
    room = WIDTH - 4
    heads = lines[0] if lines and lines[0].isupper() else ""
    starts = [found.start() for found in re.finditer(r"^\S|(?<=  )\S", heads)]
    rows = [line for line in lines if heads and all(line[at - 2 : at] == "  " for at in starts[1:])]
    over = max(map(len, rows), default=0) - room
    if over <= 0 or len(starts) < 2:  # noqa: PLR2004 - a column and another one
        return lines
    sizes = [end - start for start, end in itertools.pairwise(starts)]
    widest = sizes.index(max(sizes))
    begin, end = starts[widest], starts[widest + 1]
    cut = end - 2 - over

    def shorter(row: str) -> str:
        cell = row[begin : end - 2].rstrip()
        cell = cell if len(cell) <= cut - begin else f"{cell[: cut - begin - 1]}…"
        return f"{row[:begin]}{cell:{cut - begin}}  {row[end:]}"

    return [shorter(line) if line in rows else line for line in lines]


def tell(text: str, indent: str = "", later: str | None = None) -> None:
    """Print a text in lines that fit, broken between words alone."""
    lines = textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent if later is None else later,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
        replace_whitespace=False,
    )
    print("\n".join(lines), flush=True)


def heading(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}", flush=True)


def command(*words: str) -> list[str]:
    return [str(PROGRAM), *words, "--workspace", str(WORKSPACE), "--home", str(home())]


def write_shortcut() -> None:
    """A program that is `switchboard` on the example, because its own command lines are long."""
    ours = environment()
    lines = [
        "#!/bin/sh",
        f"export PATH={shlex.quote(str(Path(sys.base_prefix) / 'bin'))}:$PATH",
        f"export NOTES_FILE={shlex.quote(ours['NOTES_FILE'])}",
        f'exec {shlex.quote(str(PROGRAM))} "$@" {shlex.join(command()[1:])}',
    ]
    SHORTCUT.write_text("\n".join([*lines, ""]), "utf-8")
    SHORTCUT.chmod(0o700)


def shortcut(*words: str) -> str:
    return " ".join((short(SHORTCUT), *map(shlex.quote, words)))


def short(path: Path) -> str:
    """A path as it is typed, from the home of whoever types."""
    if path.is_relative_to(Path.home()):
        return f"~/{shlex.quote(str(path.relative_to(Path.home())))}"
    return shlex.quote(str(path))


def home() -> Path:
    return STATE / "home"


def environment(**more: str) -> dict[str, str]:
    """Our own, with the example's notes beside its other state."""
    ours = {key: value for key, value in os.environ.items() if key != TOKEN_VARIABLE}
    # The example's `python3` is the one that ours was made from, which is new enough. What lies in
    # this folder, as ours does, would be a part of what is trusted.
    python = Path(sys.base_prefix) / "bin"
    ours["PATH"] = os.pathsep.join((str(python), os.environ.get("PATH", "")))
    # A demonstration leaves no daemon behind.
    ours["SWITCHBOARD_IN_PROCESS"] = "1"
    return {**ours, "NOTES_FILE": str(STATE / "notes.json"), **more}


def with_daemon() -> dict[str, str]:
    """The same for what runs in the daemon, which `page` ends."""
    ours = environment()
    del ours["SWITCHBOARD_IN_PROCESS"]
    return ours


def stop(process: "subprocess.Popen[bytes]") -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()


def usual_ports() -> tuple[int, ...]:
    """The usual port, or any other when it is taken."""
    return int(os.environ.get("PORT") or PREFERRED_PORT), 0


def _stop(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
