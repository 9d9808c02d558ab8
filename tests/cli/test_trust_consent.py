"""Trust is given by a person, to what they were shown, and is written down."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from itertools import product
from pathlib import Path

import pytest

from cli.commands import UNTRUSTING, Finished, switchboard, trust_shown, typed
from support.requirements import attack
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


def _at_terminal(
    workspace: Workspace,
    *words: str,
    answer: str,
    meanwhile: str = "",
    rows: int = 0,
    key: str = "",
) -> Finished:
    """Type a command and an answer at a terminal; a file is written while the question waits.

    With rows it is of that height, and the key is pressed whenever there is more to see.
    """
    ours, theirs = pty.openpty()
    if rows:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 80, 0, 0))
    pages = 0
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
                while shown.count(b"-- more") > pages:
                    pages += 1
                    os.write(ours, key.encode())
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


def test_what_does_not_fit_is_shown_a_screen_at_a_time(workspace: Workspace) -> None:
    names = [f"server{number}" for number in range(9)]
    workspace.mcp_json({name: server(["sh", "-c", "cat"]) for name in names})
    shown = _at_terminal(workspace, "trust", "--all", answer="y", rows=24, key=" ")
    assert shown.code == 0, shown.out
    screens = shown.out.partition("[y/N]")[0].split("-- more")
    assert len(screens) > 3
    assert all(screen.count("\n") <= 24 for screen in screens)
    assert all(f"{name}\x1b[0m (.switchboard/mcp.json" in shown.out for name in names)
    assert _state(workspace, "server8") == "trusted"


def test_who_does_not_look_at_all_of_it_agrees_to_nothing(workspace: Workspace) -> None:
    workspace.mcp_json({f"server{number}": server(["sh", "-c", "cat"]) for number in range(9)})
    shown = _at_terminal(workspace, "trust", "--all", answer="y", rows=24, key="q")
    assert shown.code == 130
    assert "nothing was trusted" in shown.out
    assert "[y/N]" not in shown.out
    assert _state(workspace, "server0") == "waiting"
    listed = _at_terminal(workspace, "trust", answer="", rows=24, key="q")
    assert listed.code == 0
    assert "-- more" in listed.out
    assert "server8\x1b[0m (" not in listed.out


def test_a_key_in_plain_text_is_not_shown_and_what_may_run_is(workspace: Workspace) -> None:
    key = "ghp_canary0of0a0key0in0plain0text"
    env = {"GITHUB_TOKEN": key, "ODD_TOKEN": f"$(curl {key})", "API": "https://x.example"}
    remote = {"url": "https://h.example/mcp", "headers": {"Authorization": f"Bearer {key}"}}
    workspace.mcp_json({"s": server(["true"], env=env), "r": remote})
    done = switchboard(workspace, "trust", env=UNTRUSTING)
    out = done.out
    assert done.code == 0, done.err
    assert "GITHUB_TOKEN=[redacted]" in out
    assert "Authorization: Bearer [redacted]" in out
    assert f"ODD_TOKEN=$(curl {key})" in out
    assert "API=https://x.example" in out
    assert out.count(key) == 1


def test_a_server_that_one_writes_is_trusted_with_its_later_changes(workspace: Workspace) -> None:
    workspace.write("server.sh", "cat")
    workspace.mcp_json({"s": server(["sh", "server.sh"])})
    shown = _at_terminal(workspace, "trust", "--dev", "s", answer="y")
    assert shown.code == 0, shown.out
    question = shown.out.partition("[y/N]")[0]
    told = " ".join(question.split())
    assert "an agent too, decides what it runs" in told
    assert ": a change asks again" not in told
    workspace.write("server.sh", "exec cat")
    assert _state(workspace) == "trusted"
    assert "`s` is trusted with --dev" in switchboard(workspace, "trust", env=UNTRUSTING).err
    assert "with --dev" in _records(workspace)[-1]["note"]
    workspace.mcp_json({"s": server(["sh", "server.sh", "-x"])})
    assert _state(workspace) == "changed"


@pytest.mark.parametrize(
    "words", [("--dev",), ("--dev", "--all"), ("--dev", "s", "--revoke"), ("--dev", "s", "--all")]
)
def test_only_entries_by_name_are_trusted_with_later_changes(
    offered: Workspace, words: tuple[str, ...]
) -> None:
    offered.config_toml('[mcp.tool]\ncommand = "true"\n')
    assert _at_terminal(offered, "trust", *words, answer="y").code == 2
    given = _entry(offered, "s")["fingerprint"]
    done = switchboard(offered, "trust", "s", "--dev", "--fingerprint", given, env=UNTRUSTING)
    assert done.code == 2
    assert _state(offered) == "waiting"


@pytest.fixture
def offered(workspace: Workspace) -> Workspace:
    workspace.mcp_json({"s": server(["sh", "-c", "cat"])})
    return workspace


def test_the_question_says_how_much_a_yes_is_for(workspace: Workspace) -> None:
    workspace.mcp_json({name: server(["sh", "-c", "cat"]) for name in ("s", "t")})
    shown = _at_terminal(workspace, "trust", "--all", answer="n").out
    assert "Trust 2 entries and the folder? [y/N]" in shown or "Trust 2 entries? [y/N]" in shown
    assert "  fingerprint " in shown
    assert "  print " not in shown


@attack("B8")
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
        "code      run.sh: a change asks again",
        "X-Team: blue",
        "env:KEY, to be sent to https://h.example:443",
        _entry(workspace, "s")["program"],
    ):
        assert told in out, told
    assert Path(_entry(workspace, "s")["program"]).is_absolute()


@attack("B19")
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
    # What it says to type can be typed.
    pasted = done.err.partition("what you have seen: switchboard ")[2].split()
    assert switchboard(offered, *pasted, env=UNTRUSTING, apart=True).code == 0
    assert (offered.home / "trust.json").exists()


@pytest.mark.parametrize("words", [("s",), ("--all",)])
@attack("B14")
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


def test_what_changed_since_it_was_trusted_is_told(workspace: Workspace) -> None:
    """It would read like a server that nobody has ever looked at."""
    script = workspace.root / "tools" / "srv.sh"
    script.parent.mkdir()
    script.write_text("cat\n", "utf-8")
    workspace.mcp_json({"s": server(["sh", "tools/srv.sh"])})
    trust_shown(workspace, "s")
    script.write_text("cat # more\n", "utf-8")
    workspace.mcp_json({"s": server(["sh", "tools/srv.sh", "-v"])})
    entry = _entry(workspace, "s")
    assert entry["state"] == "changed"
    told = entry["changed"]
    assert re.fullmatch(r"trusted on \d{4}-\d\d-\d\d; changed since: args, tools/srv.sh", told)
    for words in (("list",), ("trust",), ("doctor",), ("call", "s", "x")):
        done = switchboard(workspace, *words, env=UNTRUSTING)
        assert told in done.out + done.err, words
    assert told in _at_terminal(workspace, "trust", "s", answer="n").out
    trust_shown(workspace, "s")
    assert (_state(workspace), _entry(workspace, "s")["changed"]) == ("trusted", "")
    switchboard(workspace, "trust", "--revoke", "s", env=UNTRUSTING)
    assert _state(workspace) == "waiting"


def test_an_older_record_tells_that_there_was_trust(offered: Workspace) -> None:
    trust_shown(offered, "s")
    path = offered.home / "trust.json"
    record = json.loads(path.read_text("utf-8"))
    del record["parts"]
    path.write_text(json.dumps(record), "utf-8")
    assert _state(offered) == "trusted"
    offered.mcp_json({"s": server(["sh", "-c", "true"])})
    assert _entry(offered, "s")["changed"] == "trusted before; changed since"


def test_a_person_is_shown_and_asked_at_a_terminal(offered: Workspace) -> None:
    refused = _at_terminal(offered, "trust", "s", answer="n")
    assert "runs      sh -c cat" in refused.out
    assert (refused.code, _state(offered)) == (130, "waiting")
    assert _at_terminal(offered, "trust", "s", answer="y").code == 0
    assert _state(offered) == "trusted"


def test_what_changes_under_the_question_is_not_what_is_trusted(offered: Workspace) -> None:
    _at_terminal(offered, "trust", "s", answer="y", meanwhile="touch owned")
    assert _state(offered) == "changed"


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
import json, os, subprocess, sys, time
out, ways, words = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3:]
hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-06-18", "capabilities": {},
    "clientInfo": {"name": "c", "version": "1"}}}
served = subprocess.Popen(ways, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
if "--http" not in " ".join(ways):
    served.stdin.write(json.dumps(hello).encode() + b"\\n")
    served.stdin.flush()
served.stdout.readline()
changed = {**os.environ, "SWITCHBOARD_IN_PROCESS": "1", "XDG_RUNTIME_DIR": "/nowhere"}
for env in (None, changed):
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=env)
    open(out, "a").write(done.stdout + done.stderr + "\\n")
served.stdin.close()
served.terminate()
served.wait()
"""
# What serves, with `{}` for the program; and how a client may start it.
SERVING = ("{} mcp", "{} mcp --in-process", "{} serve --stdio", "{} serve --http --port 0")
RELAY = """
import os, subprocess as s
p = s.Popen({!r}, shell=True, stdin=s.PIPE)
while d := os.read(0, 9999):
    os.write(p.stdin.fileno(), d)
"""
WRAPPED = {
    "plain": ("sh", "-c", "exec {}"),
    "shell": ("sh", "-c", "{}; true"),
    "session": ("setsid", "-w", "sh", "-c", "{}; true"),
    "python": (sys.executable, "-c", "import subprocess as s; s.run({!r}, shell=True)"),
    # It passes every byte on itself, and is no client all the same.
    "relay": (sys.executable, "-c", RELAY),
    "unlisted": ("flock", "lock", "sh", "-c", "{}; true"),
}


def _cheated(place: Workspace, out: Path, words: tuple[str, ...], how: str, serves: str) -> str:
    """What a command says that the client of `serves` types in its shell."""
    program = place.command()[0]
    ways = [each.format(serves.format(program)) for each in WRAPPED[how]]
    try:
        subprocess.run(
            [sys.executable, "-c", CHEAT, str(out), json.dumps(ways), program, *words],
            cwd=place.root,
            env=place.env,
            timeout=60,
            check=True,
        )
    finally:
        place.stop_daemon()
    return out.read_text("utf-8")


@pytest.mark.parametrize("daemon", [False, True])
@pytest.mark.parametrize("verb", ["trust", "add", "add --global", "init"])
@attack("B14")
def test_a_client_cannot_trust_for_a_person(tmp_path: Path, verb: str, *, daemon: bool) -> None:
    """An agent with a shell types what a person would, with the right fingerprint."""
    place = Workspace(tmp_path, daemon=daemon)
    del place.env["SWITCHBOARD_TRUST_WORKSPACE"]
    match verb:
        case "trust":
            place.mcp_json({"s": server(["sh", "-c", "cat"])})
            words = ("trust", "s", "--fingerprint", _entry(place, "s")["fingerprint"])
        case "init":
            place.settings.rmdir()
            words = ("init",)
        case _:
            words = (*verb.split(), "s", "--", "sh", "-c", "cat")
    told = _cheated(place, tmp_path / "out", words, "plain", SERVING[0])
    assert told.count("a client of Switchboard") >= 1
    assert not (place.home / "trust.json").exists()
    assert not (place.home / "mcp.json").exists()


@pytest.mark.parametrize(("how", "serves"), [*product(WRAPPED, SERVING[:3]), ("shell", SERVING[3])])
def test_a_client_is_known_however_it_is_served(tmp_path: Path, how: str, serves: str) -> None:
    """Attempted: the same, where the client had Switchboard started by a program in between."""
    place = Workspace(tmp_path, daemon=True)
    del place.env["SWITCHBOARD_TRUST_WORKSPACE"]
    place.mcp_json({"s": server(["sh", "-c", "cat"])})
    words = ("trust", "s", "--fingerprint", _entry(place, "s")["fingerprint"])
    told = _cheated(place, tmp_path / "out", words, how, serves)
    assert told.count("a client of Switchboard, which cannot agree for a person") == 2, told
    assert not (place.home / "trust.json").exists()


def test_whoever_is_served_over_http_may_be_anybody(tmp_path: Path) -> None:
    """Attempted: the client came over HTTP, so that its process is not known."""
    place = Workspace(tmp_path, daemon=True)
    del place.env["SWITCHBOARD_TRUST_WORKSPACE"]
    place.mcp_json({"s": server(["sh", "-c", "cat"])})
    command = place.command("serve", "--http", "--port", "0")
    with subprocess.Popen(
        command, cwd=place.root, env=place.env, stdout=subprocess.PIPE, text=True
    ) as served:
        try:
            assert served.stdout is not None
            served.stdout.readline()
            refused = trust_shown(place, "s")
        finally:
            served.terminate()
            served.wait()
            place.stop_daemon()
    assert (refused.code, "one is served over HTTP" in refused.err) == (1, True)
    assert trust_shown(place, "s").code == 0


def test_a_note_that_cannot_be_read_stops_consent(offered: Workspace) -> None:
    folder = offered.home / "serving"
    folder.mkdir(mode=0o700)
    (folder / "1.json").write_text("{", "utf-8")
    refused = trust_shown(offered, "s")
    assert (refused.code, "cannot be read" in refused.err) == (1, True)
    (folder / "1.json").unlink()
    assert trust_shown(offered, "s").code == 0


def test_what_is_added_is_trusted_only_as_it_was_typed(workspace: Workspace) -> None:
    """A repository waits for a name to be added, and opens the environment to it."""
    workspace.config_json({"suites": {"notes": {"inheritEnv": True}}})
    done = switchboard(workspace, "add", "notes", "--", "true", env=UNTRUSTING, apart=True)
    assert "switchboard trust notes" in done.err
    assert _state(workspace, "notes") == "waiting"
    (workspace.root / "switchboard.config.json").unlink()
    added = ("add", "other", "--", "true")
    typed(workspace, *added)
    assert _state(workspace, "other") == "trusted"


def test_what_a_script_adds_waits_and_says_how_it_is_trusted(workspace: Workspace) -> None:
    done = switchboard(workspace, "add", "s", "--", "true", env=UNTRUSTING, apart=True)
    assert done.code == 0
    assert (
        "it is not trusted, because nobody is at a terminal to agree to it: switchboard trust s"
        in done.err
    )
    assert _state(workspace) == "waiting"
