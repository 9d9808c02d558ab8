"""`sweep`: what hosts have left behind is found and ended, and nobody else."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.commands import switchboard
from support.requirements import attack
from support.workspace import Workspace
from switchkit.platform.streams import stream_of
from switchkit.processes import living

# Starts a program whose input is a pipe that this process holds the other end of, says its number,
# and ends, as a host does that is killed.
_HOST = """
import os, subprocess, sys
reading, writing = os.pipe()
child = subprocess.Popen(sys.argv[1:], stdin=reading, stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL, start_new_session=True, pass_fds=(writing,))
print(child.pid, flush=True)
if os.environ.get("STAYS"):
    sys.stdin.read()
os._exit(0)
"""
# Shows nobody what it holds, as programs with keys in their memory do.
_SECRETIVE = """
import ctypes, sys
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
print("hidden", flush=True)
sys.stdin.read()
"""
# Gives up the right to look into every process, which only root has, and runs a command.
_BLIND = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(24, 19, 0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
_PATIENCE = 20.0


@pytest.fixture
def ending() -> Iterator[list[int]]:
    """Give a list for numbers of processes that must not outlive the test."""
    started: list[int] = []
    yield started
    for pid in started:
        if living(pid):
            os.kill(pid, 9)


def _abandoned(command: list[str], ending: list[int]) -> int:
    """Start a server whose host has ended. The server keeps its input open itself."""
    done = subprocess.run(
        [sys.executable, "-c", _HOST, *command], capture_output=True, text=True, check=True
    )
    ending.append(int(done.stdout))
    return ending[-1]


def _host_file(workspace: Workspace, command: list[str]) -> None:
    path = workspace.user_home / ".cursor" / "mcp.json"
    path.parent.mkdir(exist_ok=True)
    program, *args = command
    entry = {"command": program, "args": args}
    path.write_text(json.dumps({"mcpServers": {"left": entry}}), "utf-8")


def _server(tmp_path: Path, name: str) -> list[str]:
    """Give the command of a server of a telling name that waits for ever."""
    script = tmp_path / name
    script.write_text("import sys\nsys.stdin.read()\n", "utf-8")
    return [sys.executable, str(script)]


def _pids(workspace: Workspace, *words: str) -> list[int]:
    report = switchboard(workspace, "sweep", "--json", *words, apart=True).report
    return [each["pid"] for each in report["found"]]


def test_a_server_whose_host_has_ended_is_found_and_ended(
    workspace: Workspace, tmp_path: Path, ending: list[int]
) -> None:
    command = [*_server(tmp_path, f"mcp-left-{os.getpid()}.py"), "--token", "sweptvalue"]
    _host_file(workspace, command)
    pid = _abandoned(command, ending)
    deadline = time.monotonic() + _PATIENCE
    while _pids(workspace, "--dry-run") != [pid]:
        assert time.monotonic() < deadline
    assert living(pid)
    shown = switchboard(workspace, "sweep", "--dry-run")
    assert "Cursor" in shown.out
    assert "sweptvalue" not in shown.out
    assert "1 server left behind" in shown.err
    assert _pids(workspace, "--yes") == [pid]
    assert living(pid) is None
    assert _pids(workspace, "--dry-run") == []


def test_setup_ends_with_what_hosts_have_left_behind(
    workspace: Workspace, tmp_path: Path, ending: list[int]
) -> None:
    command = _server(tmp_path, f"mcp-before-{os.getpid()}.py")
    _host_file(workspace, command)
    pid = _abandoned(command, ending)
    deadline = time.monotonic() + _PATIENCE
    while _pids(workspace, "--dry-run") != [pid]:
        assert time.monotonic() < deadline
    done = switchboard(workspace, "setup", "cursor", "--yes", apart=True)
    assert "1 server that hosts have left behind can go, with " in done.err
    assert "hint: switchboard sweep\n" in done.err
    # It is told, and stays until somebody says so. Moved behind us, it is still known.
    assert living(pid)
    assert _pids(workspace, "--yes") == [pid]


def test_a_server_of_a_living_host_stays(
    workspace: Workspace, tmp_path: Path, ending: list[int]
) -> None:
    command = _server(tmp_path, f"mcp-lives-{os.getpid()}.py")
    _host_file(workspace, command)
    with subprocess.Popen(
        [sys.executable, "-c", _HOST, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "STAYS": "1"},
    ) as host:
        assert host.stdout is not None
        pid = int(host.stdout.readline())
        ending.append(pid)
        assert _pids(workspace, "--yes") == []
        assert living(pid)
        host.kill()


def test_a_stranger_stays(workspace: Workspace, tmp_path: Path, ending: list[int]) -> None:
    """Left behind by somebody, too, but in no file of a host."""
    _host_file(workspace, _server(tmp_path, f"mcp-absent-{os.getpid()}.py"))
    pid = _abandoned(_server(tmp_path, f"stranger-{os.getpid()}.py"), ending)
    assert _pids(workspace, "--yes") == []
    assert living(pid)


@attack("T23")
def test_another_script_of_the_same_name_stays(
    workspace: Workspace, tmp_path: Path, ending: list[int]
) -> None:
    """Neither a clone nor a base name decides what ends."""
    name = f"index-{os.getpid()}.py"
    mine = tmp_path / "mine"
    mine.mkdir()
    command = _server(mine, name)
    clone = {"mcpServers": {"nice": {"command": sys.executable, "args": [name]}}}
    workspace.write(".mcp.json", json.dumps(clone))
    other = tmp_path / "other"
    other.mkdir()
    _host_file(workspace, _server(other, name))
    pid = _abandoned(command, ending)
    assert _pids(workspace, "--yes") == []
    assert living(pid)


@attack("T23")
def test_whoever_is_still_written_to_stays(
    workspace: Workspace, tmp_path: Path, ending: list[int]
) -> None:
    command = _server(tmp_path, f"mcp-fed-{os.getpid()}.py")
    _host_file(workspace, command)
    pid, writing = _fed(command, ending)
    assert _pids(workspace, "--yes") == []
    assert living(pid)
    os.close(writing)


def _fed(command: list[str], ending: list[int]) -> tuple[int, int]:
    """Start a server whose starter has ended. Give its number, and the end of its input."""
    reading, writing = os.pipe()
    pid = _started(command, reading, ending)
    os.close(reading)
    return pid, writing


def _started(command: list[str], reading: int, ending: list[int]) -> int:
    shell = 'exec 3<&0; "$@" >/dev/null 2>&1 <&3 & echo $!'
    words = ["/bin/sh", "-c", shell, "sh", *command]
    done = subprocess.run(words, stdin=reading, capture_output=True, text=True, check=True)
    ending.append(int(done.stdout))
    return ending[-1]


def _seen_without_rights(workspace: Workspace) -> list[int]:
    """Give what a user finds who may not look into every process, as nobody but root may."""
    done = subprocess.run(
        [sys.executable, "-c", _BLIND, *workspace.command("sweep", "--json", "--dry-run")],
        capture_output=True,
        cwd=workspace.root,
        env=workspace.env,
        check=True,
    )
    return [each["pid"] for each in json.loads(done.stdout)["found"]]


@attack("T32")
def test_whoever_is_written_to_by_a_process_that_shows_nothing_stays(
    workspace: Workspace, tmp_path: Path, ending: list[int]
) -> None:
    command = _server(tmp_path, f"mcp-unseen-{os.getpid()}.py")
    _host_file(workspace, command)
    pid, writing = _fed([sys.executable, "-c", _BLIND, *command], ending)
    with subprocess.Popen(
        [sys.executable, "-c", _SECRETIVE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=(writing,),
    ) as speaker:
        os.close(writing)
        assert speaker.stdout is not None
        assert speaker.stdout.readline() == b"hidden\n"
        assert _seen_without_rights(workspace) == []
        assert living(pid)
        # Its starter is not above it, and its input can be seen: nothing else keeps it.
        assert stream_of(pid).startswith("pipe:")
        speaker.kill()


@attack("T32")
def test_a_server_that_runs_on_after_its_input_is_over_is_found_whoever_shows_nothing(
    workspace: Workspace, tmp_path: Path, ending: list[int]
) -> None:
    command = _server(tmp_path, f"mcp-over-{os.getpid()}.py")
    with Path(command[1]).open("a", encoding="utf-8") as script:
        script.write("import signal\nsignal.pause()\n")
    _host_file(workspace, command)
    pid, writing = _fed([sys.executable, "-c", _BLIND, *command], ending)
    deadline = time.monotonic() + _PATIENCE
    assert _seen_without_rights(workspace) == []
    os.close(writing)
    while _seen_without_rights(workspace) != [pid]:
        assert time.monotonic() < deadline


@attack("T61")
def test_a_server_stays_while_somebody_has_the_other_end_of_its_socket(
    workspace: Workspace, tmp_path: Path, ending: list[int]
) -> None:
    """Hosts on Node speak over sockets. Whoever has started the server for one may have ended."""
    command = _server(tmp_path, f"mcp-socket-{os.getpid()}.py")
    with Path(command[1]).open("a", encoding="utf-8") as script:
        script.write("import signal\nsignal.pause()\n")
    _host_file(workspace, command)
    ours, theirs = socket.socketpair()
    pid = _started(command, theirs.fileno(), ending)
    theirs.close()
    assert stream_of(pid).startswith("socket:")
    assert _pids(workspace, "--yes") == []
    assert living(pid)
    ours.close()
    assert _pids(workspace, "--yes") == [pid]
    assert not living(pid)


def test_what_runs_for_itself_stays(
    workspace: Workspace, tmp_path: Path, ending: list[int]
) -> None:
    """The same command without a pipe at its input is a service of somebody."""
    script = tmp_path / f"mcp-service-{os.getpid()}.py"
    script.write_text("import time\nwhile True:\n    time.sleep(60)\n", "utf-8")
    command = [sys.executable, str(script)]
    _host_file(workspace, command)
    shell = f"exec {sys.executable} {script} </dev/null >/dev/null 2>&1 & echo $!"
    done = subprocess.run(["/bin/sh", "-c", shell], capture_output=True, text=True, check=True)
    pid = int(done.stdout)
    ending.append(pid)
    assert _pids(workspace, "--yes") == []
    assert living(pid)
