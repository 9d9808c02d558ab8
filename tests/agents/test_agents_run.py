"""`switchboard agents run` as a person types it, on the real Codex."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agents.real_codex import configure, playing
from cli.commands import switchboard
from engines.codex_stage import ASKING
from support.daemons import daemon_pid
from support.models.script import Refuse, say, shell, stumble
from support.processes import mentioning, wait_until_gone
from support.reading import says
from support.workspace import Workspace

PATIENCE = 60.0
COLUMNS = 48
RUN = ("agents", "run", "Reviewer", "--task", "make it")
# Makes its standard input the terminal that Ctrl-C reaches it through.
_ON_TERMINAL = (
    "import fcntl, os, sys, termios\n"
    "fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
    "os.execv(sys.argv[1], sys.argv[1:])\n"
)


@pytest.fixture(autouse=True)
def configured(workspace: Workspace) -> None:
    configure(workspace, "patience = { default = 1 }\n")


@pytest.mark.parametrize("more", [(), ("--in-process",)])
def test_each_thing_that_the_agent_does_is_a_line_and_the_answer_is_data(
    workspace: Workspace, more: tuple[str, ...]
) -> None:
    with playing(workspace, shell("sleep 2; exit 3"), shell("echo made"), say("made it")):
        done = switchboard(workspace, *RUN, *more)
    assert (done.code, done.out) == (0, "made it\n"), done.err
    first, *steps = done.err.splitlines()
    assert re.fullmatch(r"run r-\w+ of reviewer on codex", first)
    assert "began with mock-model" in steps
    commands = [step for step in steps if step.startswith("$ ")]
    assert len(commands) == 2
    assert "sleep 2; exit 3" in commands[0]
    assert commands[0].endswith(" (exit status 3)")
    assert "echo made" in commands[1]
    assert commands[1].endswith(" (exit status 0)")
    # It is the answer, and is not told twice.
    assert "made it" not in done.err


def test_programs_get_one_report_and_nothing_beside_it(workspace: Workspace) -> None:
    with playing(workspace, shell("echo made"), say("made it")):
        done = switchboard(workspace, *RUN, "--json")
    assert (done.code, done.err) == (0, "")
    assert (done.report["ok"], done.report["output"]) == (True, "made it")
    shown = switchboard(workspace, "runs", "show", done.report["run_id"], "--json").report
    assert shown["run"]["state"] == "completed"


def test_a_run_that_fails_says_why_and_is_a_failure(workspace: Workspace) -> None:
    with playing(workspace, stumble(Refuse(400, {"error": {"message": "no"}}))):
        done = switchboard(workspace, *RUN)
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines()[-1].startswith("error: ")


@pytest.mark.parametrize(("answer", "is_made"), [("y", True), ("n", False)])
def test_a_question_of_the_agent_is_asked_at_the_terminal(
    workspace: Workspace, answer: str, is_made: bool
) -> None:
    outside = workspace.user_home / "made"
    with (
        playing(workspace, shell(f"touch {outside}", **ASKING), say("so be it")),
        terminal(workspace, *RUN) as screen,
    ):
        screen.until("Allow it? [y/N] ")
        assert says(screen.shown, f"touch {outside}")
        assert not outside.exists()
        screen.type(f"{answer}\n")
        assert screen.ended() == 0
    assert screen.shown.rstrip().endswith("so be it")
    assert outside.exists() is is_made


def test_the_lines_fit_the_terminal(workspace: Workspace) -> None:
    long = "echo " + "long " * COLUMNS
    with playing(workspace, shell(long), say("done")), terminal(workspace, *RUN) as screen:
        assert screen.ended() == 0
    lines = re.split(r"[\r\n]+", re.sub(r"\x1b\[\w*", "", screen.shown))
    assert any(line.startswith("$ ") and line.endswith("… (exit status 0)") for line in lines), (
        screen.shown
    )
    assert max(map(len, lines)) <= COLUMNS


@pytest.mark.parametrize("more", [(), ("--in-process",)])
def test_ctrl_c_cancels_the_run_and_says_so(workspace: Workspace, more: tuple[str, ...]) -> None:
    begun = workspace.root / "begun"
    sleeps = shell(f"touch {begun}; sleep 987")
    with playing(workspace, sleeps), terminal(workspace, *RUN, *more) as screen:
        screen.until("run r-")
        until_there(begun)
        left = mentioning(str(begun))
        assert left
        screen.type("\x03")
        assert screen.ended() == 130
        said = re.search(r"run (r-\w+) was cancelled\b", screen.shown)
        assert said, screen.shown
        wait_until_gone(left)
    shown = switchboard(workspace, "runs", "show", said[1], "--json").report
    assert shown["run"]["state"] == "cancelled"


def test_a_daemon_that_is_killed_meanwhile_leaves_a_word_of_where_the_run_is(
    workspace: Workspace,
) -> None:
    begun = workspace.root / "begun"
    sleeps = shell(f"touch {begun}; sleep 987")
    with playing(workspace, sleeps), terminal(workspace, *RUN) as screen:
        screen.until("run r-")
        until_there(begun)
        os.kill(daemon_pid(workspace), signal.SIGKILL)
        assert screen.ended() == 1
    shown = re.sub(r"\x1b\[\d*[mK]", "", screen.shown)
    said = re.search(r"hint: switchboard runs show (r-\w+)", shown)
    assert said, screen.shown
    run = switchboard(workspace, "runs", "show", said[1], "--json").report["run"]
    assert (run["state"], run["reason"]) == ("failed", "interrupted")


def until_there(path: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while not path.exists():
        assert time.monotonic() < deadline, path
        time.sleep(0.05)


class Screen:
    """A command on a terminal of its own: what it shows, and what is typed."""

    def __init__(self, ours: int, command: "subprocess.Popen[bytes]") -> None:
        self._ours = ours
        self._command = command
        self.shown = ""

    def until(self, text: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while text not in self.shown:
            assert self._read(deadline), self.shown

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def ended(self) -> int:
        """Read to the end, and give the exit status."""
        deadline = time.monotonic() + PATIENCE
        while self._read(deadline):
            pass
        return self._command.wait(PATIENCE)

    def _read(self, deadline: float) -> bool:
        left = max(deadline - time.monotonic(), 0)
        assert select.select([self._ours], [], [], left)[0], self.shown
        try:
            data = os.read(self._ours, 65536)
        except OSError:
            # Linux says so when the last writer has gone.
            return False
        self.shown += data.decode()
        return bool(data)


@contextmanager
def terminal(workspace: Workspace, *words: str) -> Generator[Screen]:
    """Run a command whose three streams are one terminal."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, COLUMNS))
    with subprocess.Popen(
        [sys.executable, "-c", _ON_TERMINAL, *workspace.command(*words)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=workspace.root,
        env={**workspace.env, "TERM": "xterm"},
        start_new_session=True,
    ) as command:
        os.close(theirs)
        try:
            yield Screen(ours, command)
        finally:
            command.kill()
            os.close(ours)
