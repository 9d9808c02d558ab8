"""What a shared server says about a request that has ended reaches no other session."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from fakes.boards import server, serving
from relay.visiting import Guest
from support.mcp_stdio import text_of
from support.processes import until_true
from switchboard.children.schema import ServerEntry

# Answers each call on a thread; `late` asks and logs shortly after, whatever became of the call.
_CHILD = """
import json, sys, threading, time
lock = threading.Lock()
def say(message):
    with lock:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
def speak():
    say({"method": "notifications/message", "params": {"level": "error", "data": "of alice"}})
    for n, (method, params) in enumerate({
        "elicitation/create": {"message": "Delete all of alice?",
                               "requestedSchema": {"type": "object", "properties": {}}},
        "sampling/createMessage": {"messages": [], "maxTokens": 1},
    }.items()):
        say({"id": "q%d" % n, "method": method, "params": params})
def work(id_, name, args):
    if name == "late":
        if not args.get("answers"):
            time.sleep(args["after"])
            speak()
            return
        threading.Timer(args["after"], speak).start()
    else:
        time.sleep(args.get("takes", 0))
    say({"id": id_, "result": {"content": [{"type": "text", "text": name}]}})
notes = open(sys.argv[1], "a")
for line in sys.stdin:
    message = json.loads(line)
    if "method" not in message:
        print(json.dumps(message), file=notes, flush=True)
    elif message["method"] == "tools/call":
        params = message["params"]
        work_args = (message["id"], params["name"], params["arguments"])
        threading.Thread(target=work, args=work_args, daemon=True).start()
    elif "id" in message:
        tools = [{"name": n, "inputSchema": {"type": "object"}} for n in ("late", "wait")]
        say({"id": message["id"], "result": {
            "initialize": {"protocolVersion": "2025-11-25",
                           "capabilities": {"tools": {}, "logging": {}},
                           "serverInfo": {"name": "one", "version": "1"}},
            "tools/list": {"tools": tools}}.get(message["method"], {})})
"""


def late_child(notes: Path) -> ServerEntry:
    command = [sys.executable, "-c", _CHILD, str(notes)]
    return server("one", command, expose="tools", protocol="handshake")


@pytest.mark.parametrize("how", ["finished", "cancelled", "timed-out"])
async def test_late_words_about_one_session_do_not_reach_another(tmp_path: Path, how: str) -> None:
    """One session's request ended in some way; while only another waits, the server speaks."""
    notes = tmp_path / "notes"
    async with serving(tmp_path, late_child(notes)) as desk:
        alice, bob = (Guest(desk, "handshake", session=name) for name in ("alice", "bob"))
        await bob.call("wait")
        await alice.names()
        args = {"after": 0.7, "answers": how == "finished"}
        limit = {"switchboard/timeout_ms": 200} if how == "timed-out" else {}
        calling = asyncio.ensure_future(alice.call("late", args, **limit))
        if how == "cancelled":
            await asyncio.sleep(0.3)
            calling.cancel()
        await asyncio.wait({calling})
        waiting = asyncio.ensure_future(bob.call("wait", {"takes": 1.5}))
        await until_true(lambda: notes.exists() and notes.read_text("utf-8").count("\n") >= 2)
        assert (bob.asked, bob.told, alice.asked) == ([], [], [])
        said = [json.loads(line) for line in notes.read_text("utf-8").splitlines()]
        assert all("several clients share" in each["error"]["message"] for each in said), said
        assert text_of(await waiting) == "wait"
