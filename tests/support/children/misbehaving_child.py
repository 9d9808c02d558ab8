"""A child with one bad or odd habit, chosen by its first argument; see HABITS for the list.

python misbehaving_child.py exit-at-once 3
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

from common_tools import common_server
from tiny_server import (
    Json,
    ModernServer,
    TinyServer,
    Tool,
    content_length_frame,
    newline_frame,
    pretty_content_length_frame,
    read_messages,
    schema,
)

MEGABYTE = 1 << 20
ARGUMENTS = sys.argv[2:]


def argument(default: str) -> str:
    return ARGUMENTS[0] if ARGUMENTS else default


def exit_at_once() -> None:
    """End before the first message, with the given exit code and a word on stderr."""
    sys.stderr.write("this child does not want to work\n")
    sys.exit(int(argument("1")))


def garbage_first() -> None:
    """Print logs on stdout before the protocol starts and between its messages."""
    sys.stdout.write("Starting up...\n\n[info] {not json}\n")
    sys.stdout.flush()

    def noisy(message: Json) -> bytes:
        return b"debug: about to answer\n" + newline_frame(message) + b"null\n"

    server = common_server("garbage")
    server.frame = noisy
    server.run()


def hang_at_start() -> None:
    """Neither read nor answer anything."""
    Event().wait()


def hang_on_tool() -> None:
    """Stop reading for good when the tool `hang` is called."""

    def hang(_args: Json) -> None:
        Event().wait()

    server = common_server("hanging")
    server.tools["hang"] = Tool(hang, "Hangs.", schema())
    server.run()


def wrong_id() -> None:
    """Answer a call with an id that nobody asked with."""

    class Confused(TinyServer):
        def answer(self, method: str, params: Json, id_: Any) -> Json | None:
            result = super().answer(method, params, id_)
            if method == "tools/call":
                self.send({"jsonrpc": "2.0", "id": "nobody-asked", "result": result})
                return None
            return result

    common_server("confused", Confused).run()


def huge_line() -> None:
    """Send as many megabytes as the tool `huge` is asked for, on one line."""
    server = common_server("huge")

    def huge(args: Json) -> str:
        return "x" * (int(args["megabytes"]) * MEGABYTE)

    server.tools["huge"] = Tool(huge, "Much.", schema(("megabytes",), megabytes="integer"))
    server.run()


def endless_line() -> None:
    """Send a line without an end on stdout when the tool `endless` is called."""

    def endless(_args: Json) -> None:
        while True:
            sys.stdout.buffer.write(b"x" * MEGABYTE)

    server = common_server("endless")
    server.tools["endless"] = Tool(endless, "Never ends its line.", schema())
    server.run()


def flood_stderr() -> None:
    """Write the given number of megabytes to stderr at start, then again on the tool `flood`."""

    def flood(_args: Json) -> str:
        for _ in range(int(argument("8"))):
            sys.stderr.write(("e" * 1023 + "\n") * 1024)
        sys.stderr.write("the last line\n")
        sys.stderr.flush()
        return "flooded"

    flood({})
    server = common_server("flood")
    server.tools["flood"] = Tool(flood, "Floods stderr.", schema())
    server.run()


def changing_tools() -> None:
    """Add a tool when `grow` is called, drop one when `shrink` is, and announce the change."""
    server = common_server("changing")

    def grown(_args: Json) -> str:
        return "grown"

    def grow(args: Json) -> str:
        server.tools[args["name"]] = Tool(grown, "Grew here.", schema())
        server.notify("notifications/tools/list_changed")
        return "grown"

    def shrink(args: Json) -> str:
        del server.tools[args["name"]]
        server.notify("notifications/tools/list_changed")
        return "shrunk"

    named = schema(("name",), name="string")
    server.tools["grow"] = Tool(grow, "Adds a tool.", named)
    server.tools["shrink"] = Tool(shrink, "Removes a tool.", named)
    server.run()


def stubborn_family() -> None:
    """Ignore SIGTERM and the end of stdin, and keep a grandchild that does the same.

    The tool `family` tells both process ids; with an argument they are written to that file too.
    """
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    forever = "import signal,threading;signal.signal(15,signal.SIG_IGN);threading.Event().wait()"
    grandchild = subprocess.Popen([sys.executable, "-c", forever], stdin=subprocess.DEVNULL)
    pids = {"child": os.getpid(), "grandchild": grandchild.pid}
    if ARGUMENTS:
        draft = Path(f"{ARGUMENTS[0]}.new")
        draft.write_text(json.dumps(pids), "utf-8")
        draft.replace(ARGUMENTS[0])

    def family(_args: Json) -> str:
        return json.dumps(pids)

    server = common_server("stubborn")
    server.tools["family"] = Tool(family, "Tells its pids.", schema())
    server.run()
    Event().wait()


def dies_on_tool() -> None:
    """End at once when the tool `die` is called."""
    server = common_server("mortal")

    def die(_args: Json) -> None:
        sys.stderr.write("it was too much\n")
        sys.stderr.flush()
        os._exit(int(argument("3")))

    server.tools["die"] = Tool(die, "Ends the process.", schema())
    server.run()


def pretty_content_length() -> None:
    """Announce bodies of many lines with Content-Length and one more header."""
    server = common_server("pretty")
    server.frame = pretty_content_length_frame
    server.run()


def mixed_framing() -> None:
    """Answer in both framings by turns."""
    styles = [newline_frame, content_length_frame]

    def by_turns(message: Json) -> bytes:
        styles.reverse()
        return styles[0](message)

    server = common_server("mixed")
    server.frame = by_turns
    server.run()


def trickle() -> None:
    """Write every answer byte by byte."""

    class Slow(TinyServer):
        def write(self, data: bytes) -> None:
            for at in range(len(data)):
                super().write(data[at : at + 1])

    server = common_server("trickle", Slow)
    server.frame = content_length_frame
    server.run()


def content_length_only() -> None:
    """Take nothing but Content-Length framing; end at the first plain line."""
    stream = os.fdopen(0, "rb")
    if not stream.peek(15).lower().startswith(b"content-length:"):
        sys.stderr.write("expected a Content-Length header\n")
        sys.exit(4)
    server = common_server("strict-framing")
    server.frame = content_length_frame
    server.run(stream)


def paged() -> None:
    """List tools in pages of two."""
    server = common_server("paged")
    server.page_size = 2
    server.run()


def slow_start() -> None:
    """Begin to read only after the given number of seconds."""
    Event().wait(float(argument("1")))
    common_server("slow").run()


def legacy_strict() -> None:
    """End when the first message is anything but `initialize`."""
    server = common_server("legacy")
    for message in read_messages(sys.stdin.buffer):
        if not server.received and message.get("method") != "initialize":
            sys.stderr.write("expected initialize\n")
            sys.exit(5)
        server.take(message)


def legacy_silent() -> None:
    """Never answer what comes before `initialize`."""
    server = common_server("silent")
    for message in read_messages(sys.stdin.buffer):
        if server.received or message.get("method") == "initialize":
            server.take(message)


def modern_only() -> None:
    """Speak the version of 2026-07-28 and nothing older."""
    common_server("modern", ModernServer).run()


HABITS: tuple[Callable[[], None], ...] = (
    exit_at_once,
    garbage_first,
    hang_at_start,
    hang_on_tool,
    wrong_id,
    huge_line,
    endless_line,
    flood_stderr,
    changing_tools,
    stubborn_family,
    dies_on_tool,
    pretty_content_length,
    mixed_framing,
    trickle,
    content_length_only,
    paged,
    slow_start,
    legacy_strict,
    legacy_silent,
    modern_only,
)

if __name__ == "__main__":
    by_name = {habit.__name__.replace("_", "-"): habit for habit in HABITS}
    by_name[sys.argv[1]]()
