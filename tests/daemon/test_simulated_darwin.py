"""Shim, daemon, children and approvals where Linux lacks what macOS lacks, over a double of it."""

import asyncio
import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.daemons import daemon_pid
from support.mcp_stdio import talking_to, text_of
from support.processes import alive, descendants_of, until_gone, until_true
from support.simulation import as_darwin
from support.workspace import Workspace, child_command
from switchboard.cli.verbs.parts.doctor.privacy import about_privacy
from switchkit.platform.promises import PROMISES

# Whoever is below the client says yes, from a session of its own that a terminal would have.
APPROVES = """
import os, sys
from switchboard.approvals.approver import Approver
from switchboard.core.faults import Fault
from switchkit.processes import began
try:
    Approver.of_this_process().check_clients([(int(sys.argv[1]), began(int(sys.argv[1])))])
    print("agreed")
except Fault as refused:
    print(refused.reason)
"""


@pytest.fixture
def mac(workspace: Workspace) -> Workspace:
    workspace.env = as_darwin(workspace.env, workspace.root.parent)
    return workspace


async def test_a_session_outlives_its_daemon_and_nobody_is_left(mac: Workspace) -> None:
    async with talking_to(mac.command("mcp"), cwd=mac.root, env=mac.env, patience=30) as client:
        await client.discover()
        answer = await client.call_subtool("echo_suite", "echo", {"text": "there"})
        assert "echo: there" in text_of(answer)
        daemon = daemon_pid(mac)
        below = descendants_of(daemon)
        assert below
        os.kill(daemon, signal.SIGKILL)
        # The reaper has nothing but the double either.
        await until_gone(below)
        answer = await client.call_subtool("echo_suite", "echo", {"text": "again"})
        assert "echo: again" in text_of(answer)
        daemon = daemon_pid(mac)
        below = descendants_of(daemon)
    await asyncio.to_thread(mac.stop_daemon)
    await until_gone([daemon, *below])


async def test_a_grandchild_with_a_session_of_its_own_ends_with_the_daemon(mac: Workspace) -> None:
    """A program of the system, whose variables macOS hides: known by its parent alone."""
    note = mac.root / "pid"
    server = shlex.join(child_command("echo_child", "leaving"))
    mac.child("leaving", ["sh", "-c", f"setsid sleep 600 & echo $! >{note}; exec {server}"])
    async with talking_to(mac.command("mcp"), cwd=mac.root, env=mac.env, patience=30) as client:
        await client.discover()
        answer = await client.call_subtool("leaving_suite", "echo", {"text": "there"})
        assert "echo: there" in text_of(answer)
        grandchild = int(note.read_text())
        assert alive(grandchild)
        await asyncio.to_thread(mac.stop_daemon)
        await until_gone([grandchild])


def reaper_of(daemon: int) -> int:
    (found,) = (
        pid
        for pid in descendants_of(daemon)
        if b"switchkit.reaper" in Path(f"/proc/{pid}/cmdline").read_bytes()
    )
    return found


def wakes(pid: int) -> int:
    """How often a process has waited for something and gone on."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (found,) = (line for line in lines if line.startswith("voluntary_ctxt_switches"))
    return int(found.split()[1])


@pytest.mark.parametrize("ends", ["stop", "kill"])
@pytest.mark.parametrize("leader", ["sleep 600", "cat >/dev/null"])
async def test_a_grandchild_of_a_child_that_never_greeted_ends_with_the_daemon(
    mac: Workspace, ends: str, leader: str
) -> None:
    """One leader ends by itself once its input closes, the other has to be made to."""
    note = mac.root / "pid"
    mac.child("silent", ["sh", "-c", f"setsid sleep 600 & echo $! >{note}; exec {leader}"])
    async with talking_to(mac.command("mcp"), cwd=mac.root, env=mac.env, patience=30) as client:
        await client.discover()
        call = asyncio.ensure_future(client.call_subtool("silent_suite", "echo", {"text": "x"}))
        await until_true(lambda: note.exists() and note.read_text().strip() != "")
        grandchild = int(note.read_text())
        daemon = daemon_pid(mac)
        # A session of its own from the first moment that it can be told from its parent.
        await until_true(lambda: os.getsid(grandchild) == grandchild)
        if ends == "kill":
            # The reaper looks twice a second: whoever it has never seen can be lost on macOS.
            reaper = reaper_of(daemon)
            before = wakes(reaper)
            await until_true(lambda: wakes(reaper) > before + 3)
            os.kill(daemon, signal.SIGKILL)
        else:
            await asyncio.to_thread(mac.stop_daemon)
        await until_gone([grandchild])
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        if ends == "kill":
            # The session goes on with another daemon: once it answers it can be ended, too.
            await client.discover()


def told(mac: Workspace, *words: str) -> str:
    done = subprocess.run(
        mac.command(*words),
        cwd=mac.root,
        env=mac.env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout, done.stderr
    return done.stdout


def test_status_and_doctor_say_what_is_promised_here(mac: Workspace) -> None:
    wanted = {each.what: each.macos for each in PROMISES}
    for words in (("status", "--json"), ("doctor", "--json")):
        shown = json.loads(told(mac, *words))["promises"]
        assert {each["what"]: each["standing"] for each in shown} == wanted
        assert all(each["less"] for each in shown)
    text = told(mac, "doctor")
    weaker = next(each for each in PROMISES if each.macos == "weaker")
    assert f"weaker    {weaker.what}: {weaker.less}" in text


def test_on_linux_they_say_that_all_of_it_is_proved(workspace: Workspace) -> None:
    for words in (("status", "--json"), ("doctor", "--json")):
        shown = json.loads(told(workspace, *words))["promises"]
        assert [each["what"] for each in shown] == [each.what for each in PROMISES]
        assert {(each["standing"], each.get("less", "")) for each in shown} == {("proved", "")}
    assert f"promises   {len(PROMISES)} proved\n" in told(workspace, "doctor")


def test_the_doctor_tells_of_folders_that_macos_asks_about(mac: Workspace) -> None:
    def privacy() -> list[str]:
        found = json.loads(told(mac, "doctor", "--json"))["findings"]
        return [each["message"] for each in found if each["subject"] == "privacy"]

    assert privacy() == []
    documents = mac.user_home / "Documents"
    documents.mkdir()
    mac.root = mac.root.rename(documents / "project")
    (message,) = privacy()
    assert str(documents) in message


def test_a_folder_that_macos_keeps_us_out_of_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(_: str) -> list[str]:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("switchboard.cli.verbs.parts.doctor.privacy.ASKED_BELOW_HOME", ("Desktop",))
    monkeypatch.setattr(os, "listdir", refuse)
    home = str(tmp_path)
    (found,) = about_privacy(f"{home}/Desktop/x", home)
    assert found.severity == "error"
    assert "Files and Folders" in found.hint
    assert [*about_privacy(f"{home}/Desktops", home)] == []


def test_a_client_does_not_approve_for_itself(mac: Workspace, tmp_path: Path) -> None:
    script = tmp_path / "approves.py"
    script.write_text(APPROVES)
    for asking, wanted in ((os.getpid(), "own-approval"), (2**22 - 7, "agreed")):
        done = subprocess.run(
            [sys.executable, str(script), str(asking)],
            env=mac.env,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        assert done.stdout == f"{wanted}\n"
