"""Somebody with an empty home follows the README word for word, upgrades, and leaves again."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from support.mcp_stdio import talking_to, text_of
from support.newcomer import Newcomer
from support.workspace import CHECKOUT, child_command, server
from switchboard import __version__


def _blocks(page: str) -> list[str]:
    text = (CHECKOUT / page).read_text("utf-8")
    return re.findall(r"^```(?:sh)?\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


FIRST, TOOL, PROJECT = _blocks("README.md")
UPGRADE, UNINSTALL = _blocks("docs/upgrade.md")
pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def newcomer() -> Iterator[Newcomer]:
    # Short, so that the socket lies in the home as it does for users.
    with TemporaryDirectory(prefix="sb-", ignore_cleanup_errors=True) as folder:
        somebody = Newcomer(Path(folder))
        somebody.copy_checkout()
        yield somebody


def test_the_first_lines_show_it_at_work_until_ctrl_c(newcomer: Newcomer) -> None:
    run, test = (line.partition("#")[0].strip() for line in FIRST.splitlines())
    newcomer.download_nothing()
    with subprocess.Popen(
        ["bash", "-c", f"exec {run}"],
        cwd=newcomer.clone,
        env=newcomer.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        shown = ""
        for line in process.stdout:
            shown += line
            if "Ctrl-C" in line:
                break
        os.killpg(process.pid, signal.SIGINT)
        shown += process.stdout.read()
        process.wait(60)
    assert "textkit_suite" in shown
    assert "Traceback" not in shown
    # This run of the tests is the other one: that it is a verb of make is left to say.
    assert "support.whole_run" in newcomer.runs(*test.split(), "--dry-run", cwd=newcomer.clone)


async def test_all_hosts_and_then_one_project_are_served(newcomer: Newcomer) -> None:
    shown = newcomer.types(TOOL, newcomer.clone)
    assert "Claude Code lists it" in shown
    assert "Codex lists it" in shown
    project = newcomer.home / "your-project"
    project.mkdir()
    echo = server(child_command("echo_child", "echo"))
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": {"echo": echo}}), "utf-8")
    try:
        newcomer.types(PROJECT, newcomer.home)
        # What Claude Code starts, in the project, as it is written in its file.
        servers = json.loads((newcomer.home / ".claude.json").read_bytes())["mcpServers"]
        ours = servers["switchboard"]
        command = [ours["command"], *ours["args"]]
        async with talking_to(command, cwd=project, env=newcomer.env) as client:
            await client.initialize()
            numbers = {"a": 19, "b": 23}
            added = await client.call("call_tool", {"tool": "echo.add", "args": numbers})
            assert text_of(added) == "42"
            when = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
            told = await client.call("call_tool", {"tool": "time.convert_time", "args": when})
            assert "T21:00" in text_of(told)
    finally:
        newcomer.runs("switchboard", "daemon", "stop")
    newcomer.types("switchboard revert", newcomer.home)
    left = {path.name for path in newcomer.home.iterdir()}
    assert left == {".local", ".switchboard", "your-project"}


def test_a_new_version_comes_in_and_everything_goes_again(newcomer: Newcomer) -> None:
    """The hosts get their own servers back, and what is left is what a person made."""
    codex = newcomer.home / ".codex" / "config.toml"
    codex.parent.mkdir()
    program, *words = child_command("echo_child", "echo")
    own = f'# mine\n[mcp_servers.echo]\ncommand = "{program}"\nargs = {json.dumps(words)}\n'
    codex.write_text(own, "utf-8")
    newcomer.types(TOOL, newcomer.clone)
    assert "switchboard" in codex.read_text("utf-8")
    try:
        assert newcomer.runs("switchboard", "call", "echo", "add", "a=19", "b=23") == "42\n"
        version = newcomer.clone / "src" / "switchboard" / "__init__.py"
        version.write_text(version.read_text("utf-8").replace(__version__, "99.0.0"), "utf-8")
        newcomer.types(UPGRADE, newcomer.clone)
        status = json.loads(newcomer.runs("switchboard", "status", "--json"))
        assert status["daemon"]["version"] == "99.0.0"
        assert newcomer.runs("switchboard", "call", "echo", "add", "a=19", "b=23") == "42\n"
    finally:
        newcomer.types(UNINSTALL, newcomer.home)
    assert codex.read_text("utf-8") == own
    assert [*(newcomer.home / ".local" / "bin").iterdir()] == []
    assert {path.name for path in newcomer.home.iterdir()} <= {".codex", ".local", ".switchboard"}
