"""`make run`: the demonstration works, pastes lines that work, and stops when it is told to."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import tomllib
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from support.mcp_stdio import StdioClient, talking_to, text_of
from support.processes import wait_until_none_mention
from support.workspace import CHECKOUT, Workspace

RUN = [sys.executable, str(CHECKOUT / "examples" / "run.py")]
EXAMPLE = CHECKOUT / "examples" / "workspace"
SERVERS = {
    "textkit_suite": 10,
    "notebook": 8,
    "calc_suite": 8,
    "clock_suite": 7,
}

# Each looks for processes that the example's folder has left, so only one runs at a time.
pytestmark = pytest.mark.xdist_group("example")


def line_after(text: str, *marks: str) -> str:
    """Give the first line behind all these marks."""
    for mark in marks:
        text = text[text.index(mark) + len(mark) :]
    return text.lstrip("\n").splitlines()[0].strip()


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Give the environment of a demonstration that shares nothing with another one."""
    others = {key: value for key, value in os.environ.items() if key != "EXAMPLE_STATE"}
    return {**others, "HOME": str(tmp_path_factory.mktemp("home"))}


@pytest.fixture(scope="module")
def shown(env: dict[str, str]) -> str:
    """Give what the demonstration shows."""
    done = subprocess.run(
        [*RUN, "--once"], capture_output=True, text=True, timeout=90, env=env, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_demonstration_shows_the_main_job(shown: str) -> None:
    assert all(suite in shown for suite in SERVERS)
    assert "SAVED" in shown
    assert "42.195" in shown
    assert "without the token it refuses" in shown
    wait_until_none_mention(str(EXAMPLE))


def test_it_fits_into_a_terminal_and_breaks_no_word(shown: str) -> None:
    assert [line for line in shown.splitlines() if len(line) > 80] == []
    # What is to be typed is whole, and what explains itself is there.
    assert "\n  ~/.cache/switchboard-example/sb open --code\n" in shown
    assert "need not be dearer" in " ".join(shown.split())


def test_what_is_typed_keeps_its_notes_out_of_the_repository(
    shown: str, env: dict[str, str]
) -> None:
    typed = next(line.strip() for line in shown.splitlines() if " call notebook " in line)
    words = [word.replace("~", env["HOME"], 1) for word in shlex.split(typed)]
    words[words.index("add_note") :] = ["list_notes"]
    done = subprocess.run(
        [*words, "--in-process"], capture_output=True, text=True, timeout=60, env=env, check=False
    )
    assert done.returncode == 0, done.stderr
    assert f"NOTES_FILE={env['HOME']}" in Path(words[0]).read_text("utf-8")
    assert not (EXAMPLE / "notes.json").exists()


async def test_the_lines_that_it_gives_work(shown: str, env: dict[str, str]) -> None:
    launch = shlex.split(line_after(shown, "(stdio)", "this example is:\n"))
    assert launch[:4] == ["claude", "mcp", "add", "switchboard"]
    command = launch[launch.index("--") + 1 :]
    command[0] = command[0].replace("~", env["HOME"], 1)
    async with talking_to(
        command, cwd=CHECKOUT, env={**env, "SWITCHBOARD_IN_PROCESS": "1"}
    ) as client:
        await client.initialize()
        assert set(await client.tools()) == set(SERVERS)
        await client.close()
    http = line_after(shown, "(HTTP)", "Claude Code:\n", "\\\n")
    assert "--header 'Authorization: Bearer ${SWITCHBOARD_TOKEN}'" in http
    codex = shown.split("(HTTP)")[1].split("config.toml:\n")[1].split("\n\n", maxsplit=2)[0]
    assert tomllib.loads(codex)["mcp_servers"]["switchboard"]["bearer_token_env_var"]
    wait_until_none_mention(str(EXAMPLE))


@contextmanager
def somebody_on_a_port() -> Generator[int]:
    """Somebody else serves there, and answers as whatever it is."""
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        answering = threading.Thread(target=server.serve_forever)
        answering.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            answering.join()


def test_a_port_that_is_taken_is_left_to_whoever_has_it(env: dict[str, str]) -> None:
    with somebody_on_a_port() as port:
        done = subprocess.run(
            [*RUN, "--once"],
            capture_output=True,
            text=True,
            timeout=90,
            env={**env, "PORT": str(port)},
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, "")
    assert "without the token it refuses" in done.stdout
    assert f"127.0.0.1:{port}/" not in done.stdout
    wait_until_none_mention(str(EXAMPLE))


def test_two_demonstrations_at_once_do_not_meet(tmp_path: Path) -> None:
    started = [
        subprocess.Popen(
            [*RUN, "--once"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "EXAMPLE_STATE": str(tmp_path / name)},
        )
        for name in ("one", "two", "three")
    ]
    ended = [(process.communicate(timeout=90)[1], process.returncode) for process in started]
    assert ended == [("", 0)] * len(started)
    wait_until_none_mention(str(EXAMPLE))


def test_ctrl_c_stops_everything(env: dict[str, str]) -> None:
    with subprocess.Popen(
        RUN,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        while "Ctrl-C stops everything" not in (line := process.stdout.readline()):
            assert line, "it ended early"
        # A terminal sends the signal to the whole foreground group.
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (0, "\nstopped\n", "")
    wait_until_none_mention(str(EXAMPLE))


async def every_tool(client: StdioClient) -> dict[str, int]:
    return {suite: len((await client.introspect(suite))["tools"]) for suite in await client.tools()}


async def test_the_servers_of_the_example_do_what_they_say(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    notes = tmp_path / "notes.json"
    env = {**workspace.env, "NOTES_FILE": str(notes)}
    # A copy, because others look for processes that the example itself has left.
    example = shutil.copytree(EXAMPLE, tmp_path / "example")
    command = workspace.command("mcp", "-C", str(example))
    calls = [
        ("calc_suite", "evaluate", {"expression": "(19 + 23) * 2 ** 3"}, "336"),
        ("calc_suite", "add", {"values": [0.1, 0.2]}, "0.3"),
        ("calc_suite", "factorize", {"value": 360}, "[2, 2, 2, 3, 3, 5]"),
        ("calc_suite", "convert_base", {"digits": "0xff", "source": 16, "target": 2}, "11111111"),
        ("clock_suite", "working_days", {"start": "2026-03-02", "end": "2026-03-09"}, "5"),
        ("textkit_suite", "change_case", {"text": "wide World", "case": "pascal"}, "WideWorld"),
        ("textkit_suite", "sort_lines", {"text": "item 10\nitem 2"}, "item 2\nitem 10"),
    ]
    async with talking_to(command, cwd=tmp_path, env=env) as client:
        await client.initialize()
        assert await every_tool(client) == SERVERS
        for suite, tool, arguments, expected in calls:
            result = json.loads(text_of(await client.call_subtool(suite, tool, arguments)))
            assert text_of(result) == expected
        note = {"title": "Plan", "body": "Begin.", "tags": ["todo"]}
        await client.call_subtool("notebook", "add_note", note)
        assert json.loads(notes.read_text("utf-8"))[0]["title"] == "Plan"
        refused = await client.call_subtool("notebook", "delete_note", {"number": 1})
        assert refused["isError"]
        wrong = await client.call_subtool("calc_suite", "evaluate", {"expression": "import os"})
        assert wrong["isError"]
        await client.close()
