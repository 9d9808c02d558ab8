"""What `make run` shows: Switchboard on `examples/workspace`, from the first look to real clients.

It trusts the example's servers, counts what their suites save, talks to `switchboard mcp` as a
client does, and leaves a Streamable HTTP endpoint and the page running until Ctrl-C. Everything
that it writes lies in `~/.cache/switchboard-example`, or where `EXAMPLE_STATE` says.
"""

import argparse
import json
import os
import select
import shlex
import signal
import subprocess
import sys
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
PROGRAM = Path(sys.prefix) / "bin" / "switchboard"
LOOPBACK = "127.0.0.1"
PREFERRED_PORT = 8081
TOKEN_VARIABLE = "SWITCHBOARD_TOKEN"  # noqa: S105 - the name of a variable
START_S = 20.0
STOP_S = 10.0

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
    heading("1. Trust the four servers of examples/workspace")
    # You run this yourself, so what is shown is agreed to; at a terminal `trust` asks.
    show_command("trust")
    show_command("trust", "--all", "--fingerprint", _shown_fingerprint())
    heading("2. What a model reads: every tool, or four suites")
    show_command("tokens")
    heading("3. A client launches `switchboard mcp` and talks MCP to it")
    with talking() as client:
        client.request("initialize", HELLO)
        client.notify("notifications/initialized")
        for tool in client.request("tools/list", {})["tools"]:
            print(f"  {tool['name']:14} {tool['description']}")
        arguments: Json = {"action": "introspect", "subtool": "convert_units"}
        print(f"\n  → calc_suite {json.dumps(arguments)}")
        print(f"  ← {client.call('calc_suite', arguments)}")
        marathon = {"quantity": 26.2188, "source": "mi", "target": "km"}
        arguments = {"action": "call", "subtool": "convert_units", "args": marathon}
        print(f"\n  → calc_suite {json.dumps(arguments)}")
        print(f"  ← {client.call('calc_suite', arguments)}")


def serve(ports: Sequence[int], opened: Json, *, once: bool) -> None:
    heading("4. Streamable HTTP")
    with serving(ports) as (server, url):
        token = (home() / "http-token").read_text("utf-8").strip()
        check_endpoint(url, token)
        print(f"  {url} answers; without the token it refuses\n")
        heading("Clients that launch Switchboard themselves (stdio)")
        print("In Claude Code this example is:\n")
        print(f"  claude mcp add switchboard -- {shlex.join(command('mcp'))}\n")
        print("Your own servers get there with `switchboard setup`.\n")
        heading("Clients that connect to the endpoint above (HTTP)")
        print("They read its token from a variable. Type this where you start them:\n")
        print(f'  export {TOKEN_VARIABLE}="$(cat {home() / "http-token"})"\n')
        print("Claude Code:\n")
        # In single quotes: Claude Code fills the variable in, and keeps the token out of its file.
        header = f"'Authorization: Bearer ${{{TOKEN_VARIABLE}}}'"
        print(f"  claude mcp add --transport http switchboard {url} --header {header}\n")
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
    ours = environment()
    del ours["SWITCHBOARD_IN_PROCESS"]
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
    print("This link logs your browser in, once:\n")
    print(f"  {opened['link']}\n")
    words = ("call", "notebook", "add_note", "title=Hello", "body=from the page")
    print("Make a call in another terminal, and look into the queue of the page:\n")
    print(f"  {shlex.join(command(*words))}\n")
    print("To approve it the page asks for a code, which a terminal of yours gives:\n")
    print(f"  {shlex.join(command('open', '--code'))}\n")


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
            env=environment(),
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


def show_command(*words: str) -> None:
    print(f"  $ switchboard {' '.join(words)}", flush=True)
    done = subprocess.run(  # noqa: S603 - our own program
        command(*words), env=environment(), cwd=WORKSPACE, capture_output=True, check=False
    )
    for line in (done.stdout + done.stderr).decode().splitlines():
        print(f"    {line}")
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


def heading(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}", flush=True)


def command(*words: str) -> list[str]:
    return [str(PROGRAM), *words, "--workspace", str(WORKSPACE), "--home", str(home())]


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
