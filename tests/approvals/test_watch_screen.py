"""`switchboard approvals watch` at a real terminal: one key, no Enter, all that waits in view."""

import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from approvals.asker_contract import a_question
from approvals.ground import decision
from support.requirements import attack, requirement
from support.tmux import Pane, pane
from support.workspace import Workspace
from switchboard.approvals.store.database import Database
from switchboard.approvals.store.owners import ProcessOwners
from switchboard.approvals.store.question_table import QuestionTable

# Within this nobody has read a question that appears.
AHEAD_S = 0.25
# Shown once an answer would be taken.
CHOICES = "y: this call, s: this session, n: no"
PAUSE = "an answer is taken after a pause in typing"
ALWAYS = "always, in every session? Enter: yes"


@pytest.fixture
def workspace() -> Generator[Workspace]:
    # Short: the socket of a terminal has a name of so many letters at most.
    with TemporaryDirectory(prefix="sb-", ignore_cleanup_errors=True) as folder:
        yield Workspace(Path(folder))


@pytest.fixture
def table(workspace: Workspace) -> QuestionTable:
    return QuestionTable(Database(str(workspace.home)), ProcessOwners(), clock=time.time)


@contextmanager
def watching(workspace: Workspace, size: tuple[int, int] = (80, 24)) -> Generator[Pane]:
    with pane(
        workspace.command("approvals", "watch"),
        workspace.root.parent / "tmux",
        cwd=workspace.root,
        env=workspace.env,
        size=size,
    ) as shown:
        yield shown


def state(table: QuestionTable, question_id: str = "abcdefgh") -> tuple[str, str]:
    found = table.find(question_id)
    assert found is not None
    return found.state, found.answer.extent if found.answer else ""


def test_an_empty_queue_says_so_and_q_ends(workspace: Workspace) -> None:
    with watching(workspace) as screen:
        screen.until_shown("Nothing waits for an answer.")
        screen.type("q")
        screen.until_ended()


# Looks slowly for what waits, as on a machine with much to do: until a file is there.
LOOKS_SLOWLY = """
import sys, time
from pathlib import Path
from switchboard.cli.verbs.parts.approving.watch import QuestionWatch
from switchkit.cli.style import PLAIN

looks, may_end = map(Path, sys.argv[1:])

def waiting():
    looks.touch()
    while not may_end.exists():
        time.sleep(0.01)
    return ()

QuestionWatch(waiting=waiting, show=print, decide=print, style=PLAIN).watch()
"""


def test_a_key_that_is_pressed_while_it_looks_counts(workspace: Workspace) -> None:
    looks, may_end = (workspace.root / name for name in ("looks", "may_end"))
    command = [sys.executable, "-c", LOOKS_SLOWLY, looks, may_end]
    socket = workspace.root.parent / "tmux"
    with pane(command, socket, cwd=workspace.root, env=workspace.env) as screen:
        screen.until(lambda _: looks.exists())
        screen.type("q")
        may_end.touch()
        screen.until_ended()


@requirement("S3.33")
@pytest.mark.parametrize(
    ("key", "wanted"),
    [
        ("y", ("approved", "once")),
        ("s", ("approved", "session")),
        ("a", ("approved", "always")),
        ("n", ("denied", "once")),
    ],
)
def test_one_key_answers_without_enter(
    workspace: Workspace, table: QuestionTable, key: str, wanted: tuple[str, str]
) -> None:
    with watching(workspace) as screen:
        screen.until_shown("Nothing waits")
        table.post(a_question(offers=("once", "session", "always")), "")
        screen.until_shown("a: always for this tool")
        assert "1 waits for an answer" in screen.screen
        screen.type(key)
        if key == "a":
            screen.until_shown(ALWAYS)
            screen.press_until("Enter", f"{wanted[0]}: ")
        screen.until_shown(f"{wanted[0]}: WRITES · notes.wipe")
        assert "Nothing waits" in screen.screen
    assert state(table) == wanted


def test_all_that_waits_is_in_view_and_another_one_can_be_opened(
    workspace: Workspace, table: QuestionTable
) -> None:
    table.post(a_question("firstxxx", digest="d1", prompt="WRITES · a.one\nfirst body"), "")
    table.post(a_question("secondxx", digest="d2", prompt="DESTROYS · b.two\nsecond body"), "")
    with watching(workspace) as screen:
        shown = screen.until_shown("2 wait for an answer")
        assert "> 1 WRITES · a.one" in shown
        assert "  2 DESTROYS · b.two" in shown
        assert "first body" in shown
        assert "second body" not in shown
        screen.press("Down")
        shown = screen.until_shown("second body")
        assert "> 2 DESTROYS · b.two" in shown
        screen.until_shown(CHOICES)
        screen.type("n")
        # The other one is still there, and open.
        screen.until_shown("> 1 WRITES · a.one")
    assert state(table, "secondxx") == ("denied", "once")
    assert state(table, "firstxxx")[0] == "pending"


def test_a_question_that_is_gone_disappears(workspace: Workspace, table: QuestionTable) -> None:
    table.post(a_question(), "")
    with watching(workspace) as screen:
        screen.until_shown(CHOICES)
        table.decide("abcdefgh", decision("denied"))
        shown = screen.until_shown("Nothing waits for an answer.")
        assert "notes.wipe" not in shown


def test_the_bell_rings_for_a_new_question(workspace: Workspace, table: QuestionTable) -> None:
    with watching(workspace) as screen:
        screen.until_shown("Nothing waits")
        # What a terminal hears is told where nobody looks at the window.
        screen.tmux("set-option", "-g", "monitor-bell", "on")
        screen.tmux("new-window", "-d", "-n", "other", "sleep", "1000")
        screen.tmux("select-window", "-t", ":other")
        table.post(a_question(), "")
        deadline = time.monotonic() + 30
        flag = ("list-windows", "-F", "#{window_index} #{window_bell_flag}")
        while "0 1" not in screen.tmux(*flag).splitlines():
            assert time.monotonic() < deadline, screen.tmux(*flag)
            time.sleep(0.1)


@requirement("S3.26")
@attack("N10")
def test_a_key_that_was_typed_ahead_answers_nothing(
    workspace: Workspace, table: QuestionTable
) -> None:
    with watching(workspace) as screen:
        screen.until_shown("Nothing waits")
        screen.type("yyyy")
        for number in range(20):
            began = time.monotonic()
            table.post(a_question(f"number{number:02}", digest=f"d{number}"), "")
            screen.type(*"yyyyy")
            if time.monotonic() - began < AHEAD_S:
                break
            # Too slow to say that nobody could have read it: another one.
            table.decide(f"number{number:02}", decision("denied"))
            screen.until_shown("Nothing waits")
        else:
            raise AssertionError("no key was typed ahead")
        screen.until_shown(CHOICES)
        assert state(table, f"number{number:02}")[0] == "pending"
        # Several letters at once are pasted, or typed by a program.
        screen.type("yes")
        screen.until_shown(PAUSE)
        assert state(table, f"number{number:02}")[0] == "pending"


@pytest.mark.parametrize("other", ["y", "a", "n", "x"])
def test_an_answer_for_good_is_confirmed_or_it_is_none(
    workspace: Workspace, table: QuestionTable, other: str
) -> None:
    table.post(a_question(offers=("once", "session", "always")), "")
    with watching(workspace) as screen:
        screen.until_shown("a: always for this tool")
        screen.type("a")
        screen.until_shown(ALWAYS)
        screen.type(other)
        screen.until_shown(PAUSE)
        screen.until_shown("a: always for this tool")
    assert state(table)[0] == "pending"


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_every_key_is_named_however_narrow_the_terminal(
    workspace: Workspace, table: QuestionTable, columns: int
) -> None:
    table.post(a_question(offers=("once", "session", "always")), "")
    with watching(workspace, (columns, 24)) as screen:
        screen.until_shown("y: this call")
        foot = " ".join(screen.screen.split("\n\n")[-1].split())
    assert foot == f"{CHOICES[:-7]}, a: always for this tool, n: no · up, down: another · q: end"


def test_who_agrees_has_seen_the_end_of_the_question(
    workspace: Workspace, table: QuestionTable
) -> None:
    body = "\n".join(f"row {number}" for number in range(60))
    table.post(a_question(prompt=f"WRITES · notes.wipe\n{body}\nthe end"), "")
    with watching(workspace) as screen:
        screen.until_shown("more rows to read")
        screen.type("y")
        # Keys that a slow program finds together were pasted: one after the other.
        while "the end" not in (shown := screen.screen):
            screen.press_until_changed("Space", shown)
        screen.until_shown(CHOICES)
        assert state(table)[0] == "pending"
        screen.type("y")
        screen.until_shown("approved: ")
    assert state(table) == ("approved", "once")
