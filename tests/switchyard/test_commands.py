"""Commands as people write them: lines for a shell, an input that stays open, real env files."""

import json
import sys
from pathlib import Path

import pytest
from yardlab import Lab, get, wait_for


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("cd web && npm run dev", "cd"),
        ("FOO=1 node app.js", "FOO=1"),
        ("npm run build && npm start", "&&"),
        ("node app.js | tee log", "|"),
        ("node app.js > log 2>&1", ">"),
        ("make assets; node app.js", ";"),
        ("node app.js --port $PORT", "$PORT"),
        ("node app.js &", "&"),
    ],
)
def test_a_line_for_a_shell_is_named_before_anything_starts(lab: Lab, line: str, part: str) -> None:
    lab.config(f"[services.web]\ncommand = {json.dumps(line)}\n")
    error = lab.json("up", code=2)["error"]
    assert error["code"] == "config-invalid"
    assert f"`{part}` in `command`" in error["message"]
    assert "shell = true" in error["message"]


@pytest.mark.parametrize(
    "line",
    [
        'sh -c "cd / && exec sleep 100"',
        "sleep 100",
        "env A=1 sleep 100",
        f"{sys.executable} -c 'import time; a = 1 > 0 and 2; time.sleep(100)'",
    ],
)
def test_a_line_that_needs_no_shell_is_run_as_it_is(lab: Lab, line: str) -> None:
    lab.config(f"[services.web]\ncommand = {json.dumps(line)}\n")
    assert lab.json("up")["services"][0]["phase"] == "ready"


def test_shell_is_true_where_the_file_says_so(lab: Lab) -> None:
    program = f"{sys.executable} -S -E {Path(__file__).with_name('svc.py')} serve"
    line = f"cd sub && NAME=1 && echo here $PWD > ../said && exec {program}"
    lab.config(f"[services.web]\ncommand = {json.dumps(line)}\nshell = true\nport = 0\n")
    (lab.root / "sub").mkdir()
    web = lab.json("up")["services"][0]
    assert get(web["port"]) == "default web"
    assert (lab.root / "said").read_text() == f"here {lab.root}/sub\n"
    lab.json("down")
    assert lab.ours() == []


def test_a_shell_needs_a_line(lab: Lab) -> None:
    lab.config('[services.web]\ncommand = ["a", "b"]\nshell = true\n')
    assert "must be a string" in lab.json("up", code=2)["error"]["message"]


def test_a_procfile_becomes_a_file_that_runs(lab: Lab) -> None:
    (lab.root / "Procfile").write_text(
        f"web: {sys.executable} -m http.server $PORT --bind 127.0.0.1\n"
        "worker: cd . && WHO=me exec sleep 100\n"
    )
    lab.json("init")
    text = (lab.root / "switchyard.toml").read_text()
    assert text.count("shell = true") == 1
    (lab.root / "switchyard.toml").write_text(f"{text}\n[proxy]\nport = {lab.proxy_port}\n")
    assert {one["phase"] for one in lab.json("up")["services"]} == {"ready"}


WATCHER = "import sys; print('watching', flush=True); sys.stdin.read(); print('input ended')"


def test_the_input_of_a_service_stays_open_even_without_its_supervisor(lab: Lab) -> None:
    """As a watcher of esbuild wants it, which ends with its input."""
    command = json.dumps([sys.executable, "-u", "-c", WATCHER])
    lab.config(
        f"[services.held]\ncommand = {command}\n[services.none]\ncommand = {command}\n"
        'stdin = "null"\n[services.task]\nkind = "task"\n'
        f"command = {command}\n"
    )
    lab.sy("up", "--json", code=None)
    wait_for(lambda: lab.service("none")["phase"] == "exited")
    wait_for(lambda: lab.service("task")["phase"] == "completed")
    held = lab.service("held")
    assert held["phase"] == "ready"
    lab.kill_supervisor()
    assert lab.json("logs", "held")["logs"][0]["lines"] == ["watching"]
    assert lab.service("held")["pid"] == held["pid"]


ENV_FILE = r"""# a remark
export BASE=/opt/tool
PATHS=${BASE}/bin:${HOME_OF_TEST}
PLAIN=one two # a remark
HASH=a#b
EMPTY=
SINGLE='as ${BASE} is'
DOUBLE="with \"quotes\", a\ttab and \${BASE}"
KEY="-----BEGIN-----
second line
-----END-----"   # and a remark
FALLBACK=${NOT_SET:-usual}
DOLLAR=pa$$word
"""


def test_an_env_file_is_read_as_other_tools_read_it(lab: Lab) -> None:
    (lab.root / ".env").write_text(ENV_FILE)
    lab.config('[services.web]\ncommand = ["sleep", "100"]\nenv_file = ".env"\n')
    lab.sy("up", env={"HOME_OF_TEST": "/home/me"})
    pid = lab.service("web")["pid"]
    raw = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
    found = dict(one.split("=", 1) for one in raw if one)
    expected = {
        "BASE": "/opt/tool",
        "PATHS": "/opt/tool/bin:/home/me",
        "PLAIN": "one two",
        "HASH": "a#b",
        "EMPTY": "",
        "SINGLE": "as ${BASE} is",
        "DOUBLE": 'with "quotes", a\ttab and ${BASE}',
        "KEY": "-----BEGIN-----\nsecond line\n-----END-----",
        "FALLBACK": "usual",
        "DOLLAR": "pa$$word",
    }
    assert {key: found.get(key) for key in expected} == expected


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"A=1\nB='open\nC=3\n", ":2: the quote ' is never closed"),
        (b"A=1\n\nnonsense here\n", ":3: `nonsense here` is not NAME=value"),
        (b"A=1\nB=\xff\xfe\n", ":2: not UTF-8"),
        (b'A="x" y\n', ":1: `y` follows the closing quote"),
    ],
)
def test_a_mistake_in_an_env_file_is_told_with_its_line(
    lab: Lab, content: bytes, told: str
) -> None:
    (lab.root / ".env").write_bytes(content)
    lab.config('[services.web]\ncommand = ["sleep", "100"]\nenv_file = ".env"\n')
    error = lab.json("up", code=2)["error"]
    assert error["code"] == "env-file-invalid"
    assert f"{lab.root}/.env{told}" in error["message"]
    assert lab.ours() == []


def test_an_env_file_that_is_not_there_is_told(lab: Lab) -> None:
    lab.config('[services.web]\ncommand = ["sleep", "100"]\nenv_file = ".env"\n')
    assert lab.json("up")["warnings"] == [f"`web` has no `.env` in {lab.root}"]
