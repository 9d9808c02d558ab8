"""A start as somebody at a terminal sees it, and the terminals that services have."""

import signal
import subprocess
import sys
from pathlib import Path

from yardlab import Lab, is_alive, wait_for

SLOW = """
[services.db]
command = ["/bin/sh", "-c", "echo loading tables; exec sleep 100"]
ready = { command = ["test", "-e", "go"] }

[services.web]
command = [SVC, "serve"]
port = 0
depends_on = ["db"]
"""

TALK = """
import sys
print("size", *__import__("os").get_terminal_size())
print("tty", sys.stdin.isatty(), sys.stdout.isatty())
while True:
    line = input("(debugger) ")
    print("got", line)
    if line == "quit":
        raise SystemExit(7)
"""


def test_up_shows_what_waits_for_what_with_the_last_line(lab: Lab) -> None:
    lab.config(SLOW)
    terminal = lab.at_terminal("up")
    terminal.until("web  waits for db (starting)")
    terminal.until("| loading tables")
    (lab.root / "go").touch()
    assert terminal.end() == 0
    # Drawn over when all is ready: the table is what stays.
    assert terminal.shown.rindex("SERVICE") > terminal.shown.rindex("\x1b[J")
    assert "web" in terminal.shown[terminal.shown.rindex("SERVICE") :]


def test_a_service_cannot_steer_the_terminal_of_a_start(lab: Lab) -> None:
    text = SLOW.replace(
        "echo loading tables", "printf 'evil\\\\033]0;title\\\\007\\\\033[2J here\\\\n'"
    )
    lab.config(text)
    terminal = lab.at_terminal("up")
    terminal.until("here")
    (lab.root / "go").touch()
    assert terminal.end() == 0
    assert "\x1b]" not in terminal.shown
    assert "\x1b[2J" not in terminal.shown


def test_no_answer_lets_a_service_steer_the_terminal(lab: Lab) -> None:
    """Not its log, not the errors in a brief, and not the last lines of a start that failed."""
    said = "ERROR: seen\\\\rhidden \\\\033c\\\\010\\\\302\\\\2332J end\\\\n"
    lab.config(f'[services.web]\ncommand = ["sh", "-c", "printf \'{said}\'; exit 1"]\n')
    for words in (("up",), ("logs",), ("logs", "-t", "--merge"), ("brief",)):
        terminal = lab.at_terminal(*words)
        terminal.until("ERROR: seen")
        terminal.end()
        told = terminal.shown.replace("\r\n", "\n")
        assert "hidden" in told
        assert not {"\r", "\x08", "\x9b"} & set(told), words
        assert "\x1bc" not in told
    assert "hidden \x1bc" in lab.sy("logs").out, "a pipe gets what was printed"


ATTACHED = """
[services.one]
command = ["/bin/sh", "-c", "echo first words; exec sleep 100"]

[services.two]
command = [SVC, "serve"]
port = 0
"""


def test_attached_it_shows_output_and_stops_at_ctrl_c_when_told_so(lab: Lab) -> None:
    lab.config(ATTACHED)
    terminal = lab.at_terminal("up", "--attach")
    shown = terminal.until("first words")
    assert "one |\x1b[0m first words" in shown
    terminal.until("two: ready")
    pids = lab.ours()
    assert len(pids) == 2
    terminal.type("\x03")
    terminal.until("[c]ontinue?")
    terminal.type("c\n")
    with Path(lab.service("one")["log_path"]).open("a") as log:
        log.write("later words\n")
    terminal.until("later words")
    terminal.shown = ""
    terminal.type("\x03")
    terminal.until("[c]ontinue?")
    terminal.type("s\n")
    assert terminal.end() == 0
    assert "stopped one" in terminal.shown
    assert lab.ours() == []


def test_attached_an_answer_that_is_none_is_asked_again(lab: Lab) -> None:
    lab.config(ATTACHED)
    terminal = lab.at_terminal("up", "--attach")
    terminal.until("two: ready")
    for typed in ("\x03", "x\n", "\n"):
        terminal.shown = ""
        terminal.type(typed)
        terminal.until("[c]ontinue?")
    assert len(lab.ours()) == 2
    terminal.type("l\n")
    assert terminal.end() == 0
    assert len(lab.ours()) == 2


def test_attached_only_what_was_asked_for_is_stopped(lab: Lab) -> None:
    lab.config(ATTACHED)
    lab.json("up", "two")
    terminal = lab.at_terminal("up", "--attach", "one")
    terminal.until("one: ready")
    terminal.type("\x03")
    terminal.until("[c]ontinue?")
    terminal.type("s\n")
    assert terminal.end() == 0
    assert [one["service"] for one in lab.json("status")["services"]] == ["two"]


def test_attached_a_failed_start_leaves_alone_what_ran_before(lab: Lab) -> None:
    lab.config(ATTACHED.replace("exec sleep 100", "exit 3"))
    lab.json("up", "two")
    before = lab.ours()
    lab.sy("up", "--attach", code=1)
    assert lab.ours() == before


def test_attached_no_name_of_a_service_steers_the_terminal(lab: Lab) -> None:
    lab.config(ATTACHED.replace("services.one", 'services."one\\u001b]0;x\\u0007"'))
    terminal = lab.at_terminal("up", "--attach")
    terminal.until("first words")
    terminal.until("two: ready")
    assert "\x1b]0;" not in terminal.shown
    terminal.type("\x03")
    terminal.until("[c]ontinue?")
    terminal.type("s\n")
    assert terminal.end() == 0
    assert "\x1b]0;" not in terminal.shown


def test_attached_services_can_be_left_running(lab: Lab) -> None:
    lab.config(ATTACHED)
    terminal = lab.at_terminal("up", "--attach")
    terminal.until("two: ready")
    terminal.type("\x03")
    terminal.until("[c]ontinue?")
    terminal.type("l\n")
    assert terminal.end() == 0
    assert len(lab.ours()) == 2


def test_attached_without_a_terminal_services_end_with_the_command(lab: Lab) -> None:
    lab.config(ATTACHED)
    words = [sys.executable, "-m", "switchyard", "up", "--attach"]
    with subprocess.Popen(
        words, cwd=lab.root, env=lab.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    ) as command:
        assert command.stdout is not None
        assert b"one | first words" in command.stdout.readline()
        wait_for(lambda: len(lab.ours()) == 2)
        command.send_signal(signal.SIGINT)
        assert command.wait(20) == 0
    assert lab.ours() == []


def test_attached_a_failed_start_is_told_and_leaves_nothing(lab: Lab) -> None:
    lab.config(ATTACHED.replace("exec sleep 100", "exit 3"))
    done = lab.sy("up", "--attach", code=1)
    assert "first words" in done.out
    assert "`one` is crashed (exit-3)" in done.err
    assert lab.ours() == []


def tty_service(lab: Lab) -> None:
    (lab.root / "talk.py").write_text(TALK)
    lab.config('[services.app]\ncommand = ["python", "-u", "talk.py"]\ntty = true\n')


def test_one_attaches_to_the_terminal_of_a_service_and_detaches(lab: Lab) -> None:
    tty_service(lab)
    lab.json("up")
    terminal = lab.at_terminal("attach", "app")
    terminal.until("(debugger)")
    terminal.type("hello\n")
    terminal.until("got hello")
    terminal.type("\x1d")
    assert terminal.end() == 0
    assert "detached from app, which goes on" in terminal.shown
    assert lab.service("app")["phase"] == "ready"
    told = lab.json("logs", "app")["logs"][0]["lines"]
    assert "tty True True" in told
    assert "got hello" in told


def test_the_terminal_outlives_the_supervisor_and_takes_the_size_of_the_window(lab: Lab) -> None:
    tty_service(lab)
    lab.json("up")
    lab.kill_supervisor()
    (lab.root / "talk.py").write_text(TALK)
    terminal = lab.at_terminal("attach", "app")
    terminal.until("(debugger)")
    terminal.type("again\n")
    terminal.until("got again")
    terminal.type("quit\n")
    assert terminal.end() == 0
    assert "app has ended" in terminal.shown
    wait_for(lambda: lab.ours() == [])


def test_a_service_at_a_terminal_ends_as_others_do(lab: Lab) -> None:
    tty_service(lab)
    lab.json("up")
    pids = lab.ours()
    assert len(pids) == 2
    lab.json("down")
    assert not any(is_alive(pid) for pid in pids)
    assert list(lab.folder_of_state().glob("terminals/*")) == []


def test_how_a_service_at_a_terminal_ended_is_known(lab: Lab) -> None:
    lab.config(
        '[services.a]\ncommand = ["/bin/sh", "-c", "exit 7"]\ntty = true\n'
        '[services.b]\ncommand = ["/bin/sh", "-c", "kill -9 $$"]\ntty = true\n'
        '[services.c]\ncommand = ["no-such-program"]\ntty = true\n'
    )
    for name, reason in (("a", "exit-7"), ("b", "signal-SIGKILL"), ("c", "No such file")):
        error = lab.json("up", "-b", "default", name, code=1)["error"]
        assert reason in error["message"]


def test_attach_says_what_is_missing(lab: Lab) -> None:
    lab.config(ATTACHED)
    lab.json("up")
    assert "needs a terminal" in lab.sy("attach", "one", code=2).err
    terminal = lab.at_terminal("attach", "one")
    assert terminal.end() == 1
    assert "add `tty = true` to [services.one]" in terminal.shown
