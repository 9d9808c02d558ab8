"""The frame around every verb: words, options, exit codes, and what goes to which stream."""

import json
import os
import subprocess
import sys

import pytest

from cli.commands import switchboard
from support.requirements import attack
from support.workspace import SWITCHBOARD, Workspace
from switchboard import __version__
from switchboard.cli.table import VERBS


def test_help_shows_every_command(workspace: Workspace) -> None:
    done = switchboard(workspace, "--help")
    assert (done.code, done.err) == (0, "")
    shown = {name for name in VERBS if f"\n  {name} " in done.out}
    assert shown == set(VERBS) - {"help", "version"}


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_every_command_explains_itself(workspace: Workspace, verb: str) -> None:
    done = switchboard(workspace, verb, "--help")
    assert (done.code, done.err) == (0, "")
    assert f"usage: switchboard {verb}" in done.out
    # It fits a terminal.
    assert [line for line in done.out.splitlines() if len(line) > 100] == []
    assert switchboard(workspace, "help", verb).out == done.out


def test_help_is_a_report_too(workspace: Workspace) -> None:
    assert switchboard(workspace, "--help", "--json").report["schema"] == "switchboard.help/1"


@pytest.mark.parametrize("words", [("--version",), ("-V",), ("version",)])
def test_the_version_is_told(workspace: Workspace, words: tuple[str, ...]) -> None:
    assert switchboard(workspace, *words) == (0, f"switchboard {__version__}\n", "")


def test_the_version_is_a_report_too(workspace: Workspace) -> None:
    report = switchboard(workspace, "--version", "--json").report
    assert report == {"schema": "switchboard.version/1", "version": __version__}


def test_python_m_is_the_same_program(workspace: Workspace) -> None:
    command = [sys.executable, "-m", "switchboard", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=workspace.env)
    assert done.stdout == f"switchboard {__version__}\n"


def test_without_a_command_the_help_is_shown(workspace: Workspace) -> None:
    shown = switchboard(workspace)
    assert shown == switchboard(workspace, "--help")
    assert (shown.code, shown.err) == (0, "")


@pytest.mark.parametrize(
    ("words", "err"),
    [
        (
            ("lst",),
            "error: there is no command `lst`\n\nhint: did you mean `switchboard list`?\n",
        ),
        (("quux",), "error: there is no command `quux`\n\nhint: switchboard --help\n"),
        (
            ("help", "lst"),
            "error: there is no command `lst`\n\nhint: switchboard help list\n",
        ),
        (
            ("list", "--jsno"),
            "error: `switchboard list` has no option `--jsno`\n\nhint: did you mean `--json`?\n",
        ),
        (
            ("list", "--quux"),
            "error: `switchboard list` has no option `--quux`\n\nhint: switchboard list --help\n",
        ),
        (
            ("list", "more"),
            (
                "error: `more` is one word too many for `switchboard list`\n\n"
                "hint: switchboard list --help\n"
            ),
        ),
        (("list", "--workspace"), "error: `--workspace` needs a value: `--workspace DIR`\n"),
        (("list", "-C", "--json"), None),
        (("list", "--json=yes"), None),
        (("call",), "error: `SUITE` is missing\n\nhint: switchboard call --help\n"),
        (
            ("--quux",),
            "error: `switchboard` has no option `--quux`\n\nhint: switchboard --help\n",
        ),
        (
            ("--versoin",),
            "error: `switchboard` has no option `--versoin`\n\nhint: did you mean `--version`?\n",
        ),
        (
            ("list", "-y"),
            "error: `switchboard list` has no option `-y`\n\nhint: switchboard list --help\n",
        ),
        (("version", "x"), None),
        (("help", "list", "x"), None),
    ],
)
def test_a_command_line_that_makes_no_sense_ends_with_2(
    workspace: Workspace, words: tuple[str, ...], err: str | None
) -> None:
    done = switchboard(workspace, *words)
    assert done.code == 2
    if "--json" in words:
        assert done.report["code"] == "usage"
        return
    assert done.out == ""
    if err is not None:
        assert done.err == err


def test_a_usage_error_is_json_on_stdout_when_that_was_asked_for(workspace: Workspace) -> None:
    done = switchboard(workspace, "lst", "--json")
    assert (done.code, done.err) == (2, "")
    assert done.report == {
        "schema": "switchboard.error/1",
        "code": "usage",
        "message": "there is no command `lst`",
        "reason": "",
        "hint": "did you mean `switchboard list`?",
        "details": {},
        "problems": [],
    }


def test_options_of_every_command_may_stand_before_it(workspace: Workspace) -> None:
    workspace.echo_child()
    home = workspace.user_home
    done = switchboard(workspace, "-C", str(workspace.root), "--json", "list", cwd=home)
    assert [server["name"] for server in done.report["servers"]] == ["echo"]


def test_home_may_be_chosen(workspace: Workspace) -> None:
    other = workspace.user_home / "other"
    done = switchboard(workspace, "add", "x", "--global", "--home", str(other), "--", "true")
    assert done.code == 0
    assert "x" in json.loads((other / "mcp.json").read_text("utf-8"))["mcpServers"]


def test_every_problem_of_the_configuration_is_told_at_once(workspace: Workspace) -> None:
    workspace.mcp_json({"a": {"comand": "x"}, "b": {"command": "x", "url": "https://x.example"}})
    done = switchboard(workspace, "trust")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: ")
    assert "mcpServers.a.comand" in done.err
    assert "mcpServers.b.url" in done.err
    assert "did you mean `command`?" in done.err


def test_problems_are_objects_in_json(workspace: Workspace) -> None:
    workspace.mcp_json({"a": {"comand": "x"}})
    done = switchboard(workspace, "trust", "--json")
    assert (done.code, done.err) == (2, "")
    report = done.report
    assert report["code"] == "config"
    assert {problem["key"] for problem in report["problems"]} >= {"mcpServers.a.comand"}
    assert all(problem["line"] for problem in report["problems"])


def test_what_nobody_foresaw_is_saved_and_ends_with_3(workspace: Workspace) -> None:
    # A verb whose module is broken stands for any defect.
    program = (
        "import sys\n"
        "from switchboard.cli import main, table\n"
        "table.VERBS['broken'] = table.Verb('switchboard.no_such_module', '', '')\n"
        "sys.exit(main.main(['broken', '--token=secret']))\n"
    )
    command = [sys.executable, "-c", program]
    # Nothing of the home is there yet.
    home = workspace.root.parent / "of" / "another"
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env={**workspace.env, "SWITCHBOARD_HOME": str(home)},
        check=False,
    )
    assert (done.returncode, done.stdout) == (3, "")
    assert "Traceback" not in done.stderr
    (saved,) = (home / "reports").iterdir()
    assert str(saved) in done.stderr
    text = saved.read_text("utf-8")
    assert "Traceback" in text
    assert "command: switchboard broken --token\n" in text
    assert "secret" not in text
    for each in (saved, saved.parent, home, home.parent):
        assert each.stat().st_mode & 0o077 == 0


def test_a_reader_that_leaves_early_is_no_disaster(workspace: Workspace) -> None:
    with subprocess.Popen(
        [SWITCHBOARD, "--help"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=workspace.env,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(20) in {0, 1}


def test_nothing_but_a_terminal_gets_colour(workspace: Workspace) -> None:
    done = switchboard(workspace, "--help", env={"TERM": "xterm-256color"})
    assert "\x1b" not in done.out + done.err


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("verb", ["mcp", "list"])
def test_a_closed_stream_is_no_disaster(workspace: Workspace, closed: str, verb: str) -> None:
    command = ["sh", "-c", f'exec "$0" "$@" {closed}', SWITCHBOARD, verb]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, env=workspace.env, check=False
    )
    assert done.returncode == 0
    assert done.stdout == b"" or verb != "mcp"
    assert b"Traceback" not in done.stderr


def test_words_that_are_no_text_are_refused(workspace: Workspace) -> None:
    command = [os.fsencode(SWITCHBOARD), b"list", b"\xff\xfe", b"--json"]
    done = subprocess.run(command, capture_output=True, env=workspace.env, check=False)
    assert (done.returncode, done.stderr) == (2, b"")
    assert json.loads(done.stdout)["code"] == "usage"


def test_a_directory_that_is_gone_is_told_as_such(workspace: Workspace) -> None:
    gone = workspace.root / "gone"
    gone.mkdir()
    command = ["sh", "-c", 'rmdir "$PWD" && exec "$0" "$@"', SWITCHBOARD, "list"]
    done = subprocess.run(
        command, capture_output=True, text=True, env=workspace.env, cwd=gone, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: the current directory does not exist any more\n")


def test_a_terminal_of_another_encoding_gets_codes(workspace: Workspace) -> None:
    done = switchboard(workspace, "serve", "--port", "1", env={"PYTHONIOENCODING": "ascii"})
    assert done.code == 2
    assert "--port \\u2026\n" in done.err


@pytest.mark.parametrize("words", [("list",), ("trust",), ("introspect", "echo")])
@attack("B29")
def test_a_folder_whose_name_is_no_text_is_refused(
    workspace: Workspace, words: tuple[str, ...]
) -> None:
    folder = workspace.user_home / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    done = subprocess.run(
        workspace.command(*words), cwd=folder, env=workspace.env, capture_output=True, check=False
    )
    assert done.returncode == 2
    assert b"is not UTF-8 text" in done.stderr
