"""What a shared server says about a request that has ended reaches no other session."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from fakes.boards import server, serving
from relay.bridges import question
from relay.visiting import Guest, frank_entry
from support.mcp_stdio import text_of
from support.processes import until_true
from support.requirements import attack
from switchboard.children.inbound import audience
from switchboard.children.schema import ServerEntry
from switchboard.core.events import ChildSetApart, ChildStarted, SessionClosed

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
@attack("S1", "S2", "S3", "S4")
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
        assert all("several clients" in each["error"]["message"] for each in said), said
        assert text_of(await waiting) == "wait"


@pytest.mark.parametrize("left", [False, True])
async def test_questions_about_one_session_reach_no_other_however_late(
    tmp_path: Path, left: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server speaks long after its answer, when that session may be gone."""
    monkeypatch.setattr(audience, "LINGER_S", -1.0)
    notes = tmp_path / "notes"
    async with serving(tmp_path, late_child(notes)) as desk:
        alice, bob = (Guest(desk, "handshake", session=name) for name in ("alice", "bob"))
        await alice.names()
        await alice.call("late", {"after": 0.5, "answers": True})
        if left:
            desk.runtime.events.emit(SessionClosed(session_id="alice", reason="gone"))
        waiting = asyncio.ensure_future(bob.call("wait", {"takes": 1.5}))
        await until_true(lambda: notes.exists() and notes.read_text("utf-8").count("\n") >= 2)
        assert bob.asked == []
        assert "this server has worked for several clients" in notes.read_text("utf-8")
        await waiting


async def test_a_server_that_asks_is_given_to_each_session_for_itself(tmp_path: Path) -> None:
    """Two windows in one folder: what the one is asked is not lost because of the other."""
    async with serving(tmp_path, frank_entry("handshake", "frank")) as desk:
        one, two, three = (Guest(desk, "handshake", session=each) for each in ("1", "2", "3"))
        for guest in (one, two, three):
            guest.answers = [{"action": "accept", "content": {}}] * 3
        ask = {"questions": {"q": question()}}
        # It asks whom it is alone with, and stays with it; another has a process of its own.
        assert '"accept"' in text_of(await one.call("frank_ask", ask))
        assert [each.child for each in desk.events.of(ChildSetApart)] == ["frank"]
        assert '"accept"' in text_of(await two.call("frank_ask", ask))
        assert '"accept"' in text_of(await one.call("frank_ask", ask))
        assert len(desk.events.of(ChildStarted)) == 2
        assert [len(each.asked) for each in (one, two, three)] == [2, 1, 0]


async def test_a_question_that_comes_after_two_were_served_works_on_the_next_call(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path, frank_entry("handshake", "frank")) as desk:
        one, two = (Guest(desk, "handshake", session=each) for each in ("1", "2"))
        two.answers = [{"action": "accept", "content": {}}]
        await one.call("frank_heard")
        ask = {"questions": {"q": question()}}
        assert "call again" in text_of(await two.call("frank_ask", ask))
        assert '"accept"' in text_of(await two.call("frank_ask", ask))
        assert one.asked == []
