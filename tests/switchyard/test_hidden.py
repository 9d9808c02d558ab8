"""What matches `redact` is never shown, by no answer and in no state of the configuration."""

import json
from pathlib import Path

import pytest
from test_brief import Asked
from yardlab import Lab

SECRET = "token=open-sesame"
HIDES = "[logs]\nredact = ['token=\\S+']\n"
SAYS = f"echo ERROR: bad {SECRET}"


def failing(lab: Lab) -> None:
    lab.config(
        f'{HIDES}[services.web]\ncommand = ["sh", "-c", "{SAYS}; sleep 0.4; exit 3"]\n'
        'ready = { log = "never" }\n'
    )


def running(lab: Lab) -> None:
    lab.config(
        f'{HIDES}[services.web]\ncommand = ["sh", "-c", "{SAYS}; echo up; exec sleep 100"]\n'
        'ready = { log = "up" }\n'
    )
    lab.json("up")


def test_not_in_the_last_lines_of_a_start_that_failed(lab: Lab) -> None:
    failing(lab)
    error = lab.json("up", code=1)["error"]
    assert error["details"]["log_tail"] == ["ERROR: bad [redacted]"]
    said = lab.sy("up", code=1).err
    assert "ERROR: bad [redacted]" in said
    assert SECRET not in said
    server = Asked(lab)
    assert SECRET not in json.dumps(server.request("up"))


@pytest.mark.parametrize("words", [("up",), ("up", "--attach")])
def test_not_at_the_terminal_of_a_start(lab: Lab, words: tuple[str, ...]) -> None:
    failing(lab)
    terminal = lab.at_terminal(*words)
    terminal.until("bad [redacted]")
    terminal.end()
    assert SECRET not in terminal.shown


def test_not_while_the_configuration_is_broken(lab: Lab) -> None:
    running(lab)
    path = lab.root / "switchyard.toml"
    path.write_text(path.read_text() + "[services.web\n")
    brief = lab.sy("brief", "--json").json
    assert brief["config_error"]
    assert [one["line"] for one in brief["recent_errors"]] == ["ERROR: bad [redacted]"]
    for words in (("logs",), ("logs", "web"), ("logs", "--errors"), ("logs", "web", "default")):
        done = lab.sy(*words)
        assert "ERROR: bad [redacted]" in done.out
        assert SECRET not in done.out
        assert "not TOML" in done.err
    followed = lab.at_terminal("logs", "-f")
    followed.until("bad [redacted]")
    assert SECRET not in followed.shown


@pytest.mark.parametrize("text", ["", "{}", '{"patterns": 5}', '{"patterns": ["("]}'])
def test_nothing_is_shown_when_nobody_knows_what_must_not_be(lab: Lab, text: str) -> None:
    running(lab)
    path = lab.root / "switchyard.toml"
    path.write_text(path.read_text() + "[services.web\n")
    noted = lab.folder_of_state() / "hidden.json"
    if text:
        noted.write_text(text)
    else:
        noted.unlink()
    assert lab.json("brief")["recent_errors"] == []
    assert lab.json("logs", code=2)["error"]["code"] == "config-invalid"
    assert SECRET not in lab.sy("logs", code=2).out


def test_a_later_start_takes_other_patterns_up(lab: Lab) -> None:
    running(lab)
    path = lab.root / "switchyard.toml"
    text = path.read_text()
    path.write_text(text.replace("token=", "nothing="))
    assert SECRET in lab.sy("logs").out
    path.write_text(text.replace("token=", "(?:token|bad) ?="))
    lab.json("up")
    path.write_text(text + "[services.web\n")
    assert SECRET not in lab.sy("logs").out


def test_a_log_that_is_a_link_shows_nothing_of_what_it_leads_to(lab: Lab) -> None:
    lab.config('[services.web]\ncommand = ["sleep", "100"]\n')
    log = Path(lab.json("up")["services"][0]["log_path"])
    other = lab.folder / "other.txt"
    other.write_text("ERROR: words of somebody else\n")
    log.unlink()
    log.symlink_to(other)
    said = lab.sy("brief").out + lab.sy("logs").out + lab.sy("logs", "web").out
    lab.json("down")
    said += lab.sy("up", code=1).err
    assert "is a link" in said
    assert "words of somebody else" not in said
    assert other.read_text() == "ERROR: words of somebody else\n"
