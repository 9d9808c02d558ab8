"""The log: what it says, how loudly, and that nobody ever waits for who reads it."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from support.requirements import requirement
from support.workspace import Workspace, child_command
from switchboard.core.events import CallFinished, CallStarted, ChildFailed, ConfigLoaded
from switchboard.daemon.logs.log import Log, threshold
from switchboard.daemon.logs.log_sink import LogSink

STARTED = CallStarted(call_id="s-1", session_id="s", tool="echo_suite")
FAILED = ChildFailed(child="notes", reason="spawn-failed", message="it was not found")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "log"


def written(file: Path, *events: object, style: str = "compact", level: str = "info") -> str:
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    with Log(LogSink(handle), style=style, directives=level) as log:
        for event in events:
            log(event)  # type: ignore[arg-type]
    os.close(handle)
    return file.read_text("utf-8")


@requirement("S0.122")
def test_a_line_is_compact_json_or_pretty(file: Path) -> None:
    assert 'warn ChildFailed child=notes reason=spawn-failed message="it was' in written(
        file, FAILED
    )
    record = json.loads(written(file, FAILED, style="json").splitlines()[-1])
    assert (record["level"], record["event"], record["child"]) == ("warn", "ChildFailed", "notes")
    assert "WARN  ChildFailed\n    child: notes\n" in written(file, FAILED, style="pretty")


@requirement("S0.123")
@pytest.mark.parametrize(
    ("directives", "level"),
    [("info", 2), ("warn,switchboard=debug", 1), ("debug,hyper=trace", 1), ("OFF", 5), ("?", 2)],
)
def test_a_filter_is_read_as_rust_log_spells_it(directives: str, level: int) -> None:
    assert threshold(directives) == level


def test_calls_that_go_well_are_news_only_to_who_debugs(file: Path) -> None:
    ended = CallFinished(
        call_id="s-1", session_id="s", tool="echo_suite", outcome="ok", duration_s=0.1
    )
    assert written(file, STARTED, ended) == ""
    assert len(written(file, STARTED, ended, level="debug").splitlines()) == 2


def test_a_warning_lifts_the_news_of_a_configuration(file: Path) -> None:
    assert written(file, ConfigLoaded(servers=1, tools=1), level="warn") == ""
    assert "odd" in written(file, ConfigLoaded(servers=1, tools=1, warnings=("odd",)), level="warn")


def test_lines_that_nobody_reads_are_dropped_and_counted() -> None:
    reading, writing = os.pipe()
    with Log(LogSink(writing)) as log:
        for _ in range(5_000):
            log(FAILED)
        text = b""
        while b"were dropped" not in text:
            text += os.read(reading, 1 << 20)
    os.close(reading)
    os.close(writing)
    assert text.count(b"ChildFailed") < 5_000


def test_a_host_that_does_not_read_stderr_stops_nobody(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.child("echo", child_command("echo_child", "echo"))
    process = subprocess.Popen(
        workspace.command("mcp"),
        cwd=workspace.root,
        env={**workspace.env, "RUST_LOG": "trace"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    ask = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t"}}
    calls = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": ask}]
    # Each of these is worth several lines: together far more than a pipe holds.
    calls += [
        {
            "jsonrpc": "2.0",
            "id": number,
            "method": "tools/call",
            "params": {"name": "echo_suite", "arguments": {"action": "wrong"}},
        }
        for number in range(1, 1_001)
    ]
    process.stdin.write(b"".join(json.dumps(call).encode() + b"\n" for call in calls))
    process.stdin.flush()
    answers = [json.loads(process.stdout.readline()) for _ in calls]
    assert {answer["id"] for answer in answers} == set(range(1_001))
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0
    for stream in (process.stdin, process.stdout, process.stderr):
        assert stream is not None
        stream.close()
