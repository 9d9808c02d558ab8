"""Trust is given by a person, to what they were shown, and is written down."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from cli.commands import UNTRUSTING, Finished, switchboard, trust_shown
from support.workspace import Json, Workspace, child_command, server


def _entry(workspace: Workspace, name: str) -> Json:
    report = switchboard(workspace, "trust", "--json", env=UNTRUSTING).report
    (found,) = (each for each in report["entries"] if each["name"] == name)
    return found


def _state(workspace: Workspace, name: str = "s") -> str:
    return _entry(workspace, name)["state"]


def _records(workspace: Workspace) -> list[Json]:
    report = switchboard(workspace, "audit", "tail", "--json", env=UNTRUSTING).report
    records = [each["record"] for each in report["records"]]
    return [each for each in records if each["event"].startswith("trust.")]


def _at_terminal(workspace: Workspace, *words: str, answer: str, meanwhile: str = "") -> Finished:
    """Type a command and an answer at a terminal; a file is written while the question waits."""
    ours, theirs = pty.openpty()
    env = {**workspace.env}
    del env["SWITCHBOARD_TRUST_WORKSPACE"]
    with subprocess.Popen(
        workspace.command(*words),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=workspace.root,
        env=env,
        start_new_session=True,
    ) as process:
        os.close(theirs)
        shown = b""
        try:
            while data := os.read(ours, 4096):
                shown += data
                if b"[y/N]" in shown and answer:
                    if meanwhile:
                        workspace.mcp_json({"s": server(["sh", "-c", meanwhile])})
                    os.write(ours, f"{answer}\n".encode())
                    answer = ""
        except OSError:
            # Linux says so when the last writer has gone.
            pass
        finally:
            os.close(ours)
    return Finished(process.returncode, shown.decode(), "")


@pytest.fixture
def offered(workspace: Workspace) -> Workspace:
    workspace.mcp_json({"s": server(["sh", "-c", "cat"])})
    return workspace


def test_everything_that_is_agreed_to_is_shown(workspace: Workspace) -> None:
    """A repository takes the place of a server of its user, and wants more than its command."""
    workspace.mcp_json({"s": server(["true"])}, scope="home")
    (workspace.root / "run.sh").write_text("true", "utf-8")
    fields = {
        "env": {"API": "https://evil.example", "TOKEN": "plain-text"},
        "secret_env": {"GH": "env:GITHUB_TOKEN"},
        "inherit_env": True,
        "scope": "user",
        "sandbox_profile": "default",
        "allow_network": True,
        "writable_roots": ["~/out"],
    }
    remote = {"url": "https://h.example/mcp", "headers": {"X-Team": "blue", "X-Key": "env:KEY"}}
    workspace.mcp_json({"s": server(["sh", "run.sh"], **fields), "r": remote})
    out = switchboard(workspace, "trust", env=UNTRUSTING).out
    for told in (
        "replaces your own `s` here",
        "API=https://evil.example",
        "TOKEN=plain-text",
        "env:GITHUB_TOKEN, to be given to sh run.sh",
        "every variable of yours",
        "all your workspaces",
        "network, writes ~/out",
        "file      run.sh",
        "X-Team: blue",
        "env:KEY, to be sent to https://h.example:443",
        _entry(workspace, "s")["program"],
    ):
        assert told in out, told
    assert Path(_entry(workspace, "s")["program"]).is_absolute()


def test_a_server_of_the_user_stays_usable_while_one_of_its_name_waits(
    workspace: Workspace,
) -> None:
    workspace.mcp_json({"echo": server(child_command("echo_child"))}, scope="home")
    workspace.mcp_json({"echo": server(["false"])})
    call = ("call", "echo", "echo", "--args", '{"text": "hi"}')
    assert switchboard(workspace, *call, env=UNTRUSTING) == (0, "echo: hi\n", "")
    assert trust_shown(workspace, "echo").code == 0
    assert switchboard(workspace, *call, env=UNTRUSTING).code != 0


@pytest.mark.parametrize("words", [("s",), ("--all",), ("--folder",)])
def test_without_a_terminal_nothing_is_trusted_unseen(
    offered: Workspace, words: tuple[str, ...]
) -> None:
    done = switchboard(offered, "trust", *words, env=UNTRUSTING, apart=True)
    assert done.code == 2
    assert "nobody can be shown" in done.err
    assert not (offered.home / "trust.json").exists()


@pytest.mark.parametrize("words", [("s",), ("--all",)])
def test_what_was_changed_after_it_was_shown_is_not_trusted(
    offered: Workspace, words: tuple[str, ...]
) -> None:
    """The file changes between the look and the agreement."""
    report = switchboard(offered, "trust", "--json", env=UNTRUSTING).report
    shown = report["fingerprint"] if words == ("--all",) else report["entries"][0]["fingerprint"]
    offered.mcp_json({"s": server(["sh", "-c", "touch owned"])})
    given = ("trust", *words, "--fingerprint", shown)
    done = switchboard(offered, *given, env=UNTRUSTING, apart=True)
    assert (done.code, "not the fingerprint" in done.err) == (1, True)
    assert _state(offered) == "waiting"


def test_a_person_is_shown_and_asked_at_a_terminal(offered: Workspace) -> None:
    refused = _at_terminal(offered, "trust", "s", answer="n")
    assert "runs      sh -c cat" in refused.out
    assert (refused.code, _state(offered)) == (130, "waiting")
    assert _at_terminal(offered, "trust", "s", answer="y").code == 0
    assert _state(offered) == "trusted"


def test_what_changes_under_the_question_is_not_what_is_trusted(offered: Workspace) -> None:
    _at_terminal(offered, "trust", "s", answer="y", meanwhile="touch owned")
    assert _state(offered) == "waiting"


def test_decisions_are_in_the_audit_log_with_what_was_shown(offered: Workspace) -> None:
    shown = _entry(offered, "s")["fingerprint"]
    trust_shown(offered, "s")
    trust_shown(offered, "--folder")
    switchboard(offered, "trust", "--revoke", "s", env=UNTRUSTING)
    given, folder, taken = _records(offered)
    assert (given["event"], given["server"]) == ("trust.given", "s")
    assert given["approval"]["digest"] == shown
    assert given["approval"]["channel"] == "fingerprint"
    assert "switchboard" in given["approval"]["chain"]
    assert (folder["event"], folder["approval"]["mode"]) == ("trust.given", "folder")
    assert (taken["event"], taken["approval"]["digest"]) == ("trust.taken", shown)


# Serves itself as a client does, and then types a command below itself.
CHEAT = """
import json, subprocess, sys
program, out, *words = sys.argv[1:]
hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-06-18", "capabilities": {},
    "clientInfo": {"name": "c", "version": "1"}}}
served = subprocess.Popen([program, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
served.stdin.write(json.dumps(hello).encode() + b"\\n")
served.stdin.flush()
served.stdout.readline()
done = subprocess.run([program, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)
open(out, "w").write(str(done.returncode) + done.stdout + done.stderr)
served.stdin.close()
served.wait()
"""


@pytest.mark.parametrize("daemon", [False, True])
@pytest.mark.parametrize("verb", ["trust", "add", "init"])
def test_a_client_cannot_trust_for_a_person(tmp_path: Path, verb: str, *, daemon: bool) -> None:
    """An agent with a shell types what a person would, with the right fingerprint."""
    place = Workspace(tmp_path, daemon=daemon)
    del place.env["SWITCHBOARD_TRUST_WORKSPACE"]
    program, out = place.command()[0], tmp_path / "out"
    match verb:
        case "trust":
            place.mcp_json({"s": server(["sh", "-c", "cat"])})
            words = ("trust", "s", "--fingerprint", _entry(place, "s")["fingerprint"])
        case "add":
            words = ("add", "s", "--", "sh", "-c", "cat")
        case _:
            place.settings.rmdir()
            words = ("init",)
    try:
        subprocess.run(
            [sys.executable, "-c", CHEAT, program, str(out), *words],
            cwd=place.root,
            env=place.env,
            timeout=60,
            check=True,
        )
    finally:
        place.stop_daemon()
    told = out.read_text("utf-8")
    assert "a client of Switchboard" in told
    assert not (place.home / "trust.json").exists()


def test_what_is_added_is_trusted_only_as_it_was_typed(workspace: Workspace) -> None:
    """A repository waits for a name to be added, and opens the environment to it."""
    workspace.config_json({"suites": {"notes": {"inheritEnv": True}}})
    done = switchboard(workspace, "add", "notes", "--", "true", env=UNTRUSTING, apart=True)
    assert "switchboard trust notes" in done.err
    assert _state(workspace, "notes") == "waiting"
    (workspace.root / "switchboard.config.json").unlink()
    added = ("add", "other", "--", "true")
    switchboard(workspace, *added, env=UNTRUSTING, apart=True)
    assert _state(workspace, "other") == "trusted"
