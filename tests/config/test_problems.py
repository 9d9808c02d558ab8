"""How problems are told."""

import pytest

from support.requirements import attack
from switchboard.config.problems import (
    ConfigInvalid,
    Problem,
    place,
    render_problems,
    shown_path,
)
from switchboard.config.toml_text import TomlInvalid, read_toml
from switchkit.suggest import did_you_mean


@pytest.mark.parametrize(
    ("word", "choices", "meant"),
    [
        ("comand", ["command", "args"], "command"),
        ("ocmmand", ["command"], "command"),
        ("rpc_ms", ["rpcMs", "idleMs"], "rpcMs"),
        ("MCPSERVERS", ["mcpServers"], "mcpServers"),
        ("env", ["args", "url"], ""),
        ("evn", ["env", "url"], "env"),
        ("completely-different", ["command"], ""),
        ("", ["a"], "a"),
    ],
)
def test_the_likely_meaning_of_a_word(word: str, choices: list[str], meant: str) -> None:
    assert did_you_mean(word, choices) == meant


def test_paths_are_shown_from_the_workspace_or_the_home_of_the_user() -> None:
    assert shown_path("/w/a/b", workspace="/w", user_home="/u") == "a/b"
    assert shown_path("/u/a", workspace="/w", user_home="/u") == "~/a"
    assert shown_path("/wide/a", workspace="/w", user_home="/u") == "/wide/a"
    assert shown_path("/etc/a", workspace="/", user_home="") == "/etc/a"


@pytest.mark.parametrize(("column", "shown"), [(0, "f:42"), (7, "f:42:7")])
def test_a_column_that_is_not_known_is_not_shown(column: int, shown: str) -> None:
    assert place(Problem(path="f", line=42, column=column, message="bad")) == shown


def test_a_key_that_is_written_twice_is_named() -> None:
    with pytest.raises(TomlInvalid, match="the key `guard` is already there") as caught:
        read_toml("a = 1\nguard = true\nguard = false\n")
    assert caught.value.line == 3


def test_one_problem_is_not_two_problems() -> None:
    problem = Problem(path="/w/f", message="bad")
    assert render_problems([problem], workspace="/w") == (
        "error: 1 problem in the configuration\n\n  f\n    bad\n"
    )
    assert str(ConfigInvalid([problem])) == render_problems([problem])


def test_a_warning_is_not_counted_among_the_problems() -> None:
    bad, odd = Problem(path="f", message="bad"), Problem(path="f", message="o", severity="warning")
    heads = [render_problems(each).splitlines()[0] for each in ((bad, odd), (bad, bad, odd, odd))]
    assert heads == [
        "error: 1 problem and 1 warning in the configuration",
        "error: 2 problems and 2 warnings in the configuration",
    ]


def test_a_problem_is_one_line_in_a_log() -> None:
    problem = Problem(path="/w/f", line=3, column=7, key="a.b", message="bad\x1b", hint="mend it")
    assert str(problem) == "/w/f:3:7 a.b: bad\\x1b (hint: mend it)"
    near = Problem(path="/w/f", line=3, near=True, message="odd", severity="warning")
    assert str(near) == "/w/f, near line 3: odd"
    assert str(Problem(path="flag", key="port", message="bad")) == "flag port: bad"


def test_warnings_say_that_they_are_warnings() -> None:
    told = render_problems(
        [Problem(path="f", message="odd", severity="warning", line=3, near=True)]
    )
    assert told == "warning: 1 warning in the configuration\n\n  f, near line 3\n    warning: odd\n"


@attack("B21")
def test_a_file_cannot_speak_to_the_terminal_through_a_problem() -> None:
    told = render_problems([Problem(path="f", key="a\x1b[2Jb", message="x\ny\x07", hint="\u202e")])
    assert "\x1b" not in told
    assert "\x07" not in told
    assert "\u202e" not in told
    assert "a\\x1b[2Jb" in told
    assert "x\\ny" in told
