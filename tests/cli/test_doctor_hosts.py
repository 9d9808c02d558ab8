"""`doctor` about the hosts of this machine, their rules and the shell that starts them."""

import json
import os
import re
import shlex
import time
from pathlib import Path

import pytest

from cli.commands import switchboard
from support.workspace import Json, Workspace, child_command, server
from switchboard.audit.store import SqliteAudit
from switchboard.cli.verbs.parts.doctor.slow import about_starts
from switchboard.core.audit import AuditRecord, stamp
from switchboard.settings.load import load_settings


def found(workspace: Workspace, subject: str, *words: str) -> list[Json]:
    report = switchboard(workspace, "doctor", "--json", *words).report
    return [each for each in report["findings"] if each["subject"] == subject]


def test_a_rule_of_a_host_that_has_no_effect_on_us_is_found(workspace: Workspace) -> None:
    """Also what was denied there: behind us it is not, until the hint is followed."""
    workspace.mcp_json({"notes": server(child_command("echo_child", "notes"))}, scope="home")
    claude = workspace.user_home / ".claude.json"
    claude.write_text(
        json.dumps({"mcpServers": {"switchboard": {"command": "switchboard", "args": ["mcp"]}}})
    )
    rules = workspace.user_home / ".claude" / "settings.json"
    rules.parent.mkdir()
    said = {"allow": ["mcp__notes__echo"], "deny": ["mcp__notes__add", "mcp__other__x"]}
    rules.write_text(json.dumps({"permissions": said}))
    (denied,) = found(workspace, "Claude Code")
    assert denied["severity"] == "warning"
    assert denied["message"] == (
        "`mcp__notes__add` of ~/.claude/settings.json (deny) has no effect:"
        " Claude Code reaches `notes` through Switchboard"
    )
    (allowed,) = found(workspace, "rule")
    assert "`mcp__notes__echo`" in allowed["message"]
    # What the hint says to write does it.
    assert switchboard(workspace, "call", "notes", "add", "a=1", "b=2").code == 0
    where, _, text = denied["hint"].partition(": ")
    assert where == "in switchboard.config.json of your home"
    (workspace.home / "switchboard.config.json").write_text(text)
    assert "is not allowed" in switchboard(workspace, "call", "notes", "add", "a=1", "b=2").err
    assert switchboard(workspace, "call", "notes", "echo", "text=x").code == 0
    # A server that the host still has is its own business.
    claude.write_text(
        json.dumps(
            {"mcpServers": {"switchboard": {"command": "switchboard"}, "notes": {"command": "x"}}}
        )
    )
    assert found(workspace, "Claude Code") == []


def _program(folder: Path, name: str, *words: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{shlex.join(['exec', *words])}\n", "utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def shells(workspace: Workspace, tmp_path: Path) -> tuple[Path, Path]:
    """Give a folder on our `PATH`, and one on that of a login, with a server that uses both."""
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    workspace.env["SHELL"] = "/bin/bash"
    workspace.env["PATH"] = os.pathsep.join([str(ours), workspace.env["PATH"]])
    profile = workspace.user_home / ".bash_profile"
    profile.write_text(f'echo "welcome"\nPATH="{theirs}:$PATH"\n', "utf-8")
    workspace.mcp_json({"notes": {"command": "notes-server", "args": []}}, scope="home")
    return ours, theirs


@pytest.mark.parametrize("kind", ["ours", "theirs", "both"])
def test_a_program_that_the_login_shell_finds_elsewhere_is_told(
    kind: str, workspace: Workspace, shells: tuple[Path, Path]
) -> None:
    for folder, name in zip(shells, ("ours", "theirs"), strict=True):
        if kind in {name, "both"}:
            _program(folder, "notes-server", *child_command("echo_child", "notes"))
    subject = "PATH" if kind == "ours" else "path"
    (finding,) = found(workspace, subject)
    told = {
        "ours": "a host that is started from the desktop does not find it",
        "theirs": f"your login shell finds `notes-server` at {shells[1]}",
        "both": f"and {shells[1]}/notes-server in your login shell",
    }
    assert told[kind] in finding["message"]
    # What the hint says to write mends it.
    whole, _, rest = finding["hint"].removeprefix("write `").partition("`")
    assert rest == " as the `command` of `notes`"
    workspace.mcp_json({"notes": {"command": whole, "args": []}}, scope="home")
    assert found(workspace, subject) == []
    assert switchboard(workspace, "call", "notes", "echo", "text=x").code == 0


def test_programs_of_one_folder_are_one_finding(
    workspace: Workspace, shells: tuple[Path, Path]
) -> None:
    names = ("notes-server", "files-server")
    servers: Json = {name: {"command": name, "args": []} for name in names}
    for name in names:
        _program(shells[0], name, *child_command("echo_child", "notes"))
    workspace.mcp_json(servers, scope="home")
    (finding,) = found(workspace, "PATH")
    assert f"does not look in {shells[0]}, where " in finding["message"]
    assert all(f"`{name}`" in finding["message"] for name in names)
    # What the hint says to write mends it.
    line = finding["hint"].removeprefix("write ").partition(" into the profile")[0]
    with (workspace.user_home / ".bash_profile").open("a", encoding="utf-8") as profile:
        profile.write(f"{line}\n")
    assert found(workspace, "PATH") == []


def test_a_shell_that_hangs_or_is_not_there_keeps_nobody_waiting(
    workspace: Workspace, shells: tuple[Path, Path], tmp_path: Path
) -> None:
    _program(shells[0], "notes-server", *child_command("echo_child", "notes"))
    workspace.env["SHELL"] = str(_program(tmp_path, "hanging-shell", "tail", "-f", "/dev/null"))
    assert found(workspace, "PATH") == []
    workspace.env["SHELL"] = "/nonexistent/shell"
    assert found(workspace, "PATH") == []


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        ("npx", "npm install --global PACKAGE, then name its program as the `command`"),
        ("/opt/bin/own", "see what it does meanwhile: switchboard logs late"),
    ],
)
def test_a_server_that_is_slow_to_start_is_told(
    command: str, hint: str, workspace: Workspace
) -> None:
    servers = {"late": server([command]), "quick": server(["x"])}
    workspace.mcp_json(servers, scope="home")
    settings = load_settings(workspace=str(workspace.root), environ=workspace.env)
    (finding,) = about_starts(settings, {"late": 7.25, "quick": 0.4})
    assert finding.message == "`late` takes 7.2 s to start, and the first call waits for it"
    assert finding.hint == hint


def test_deep_says_how_long_each_start_took(workspace: Workspace) -> None:
    workspace.echo_child("one")
    shown = switchboard(workspace, "doctor", "--deep").out
    assert re.search(r"^started +one_suite: \d+ tools, after [\d.]+ m?s$", shown, re.MULTILINE)


async def test_tools_that_nearly_always_take_long_are_told(workspace: Workspace) -> None:
    workspace.echo_child("one")
    log = SqliteAudit(str(workspace.home))
    now = time.time_ns()
    for tool, seconds in (("crawl", 30), ("echo", 1)) * 6:
        await log.append(
            AuditRecord(
                ts=stamp(now),
                event="tool.call.finished",
                started=stamp(now - seconds * 10**9),
                ended=stamp(now),
                server="one",
                via="one_suite",
                tool=tool,
                status="ok",
            )
        )
    await log.aclose()
    (finding,) = found(workspace, "slow")
    assert "`one.crawl`" in finding["message"]
    assert finding["hint"] == "switchboard calls --tool one_suite"
    assert switchboard(workspace, *finding["hint"].split()[1:], apart=True).code == 0


@pytest.mark.parametrize(
    ("place", "title", "most"),
    [(".qwen/settings.json", "Qwen Code", 45), (".cursor/mcp.json", "Cursor", 48)],
)
def test_a_name_that_a_host_cannot_take_is_told_with_what_mends_it(
    workspace: Workspace, place: str, title: str, most: int
) -> None:
    fits, too_long = "a" * (most - len("_suite")), "b" * (most - len("_suite") + 1)
    echo = server(child_command("echo_child", "notes"))
    workspace.mcp_json({fits: echo, too_long: echo}, scope="home")
    path = workspace.user_home / place
    path.parent.mkdir()
    ours = {"command": "switchboard", "args": ["mcp"]}
    path.write_text(json.dumps({"mcpServers": {"switchboard": ours}}))
    (told,) = found(workspace, title)
    assert told["message"].startswith(f"it leaves out or renames `{too_long}_suite`: ")
    assert f"at most {most} letters" in told["message"]
    _, _, text = told["hint"].partition(": ")
    (workspace.home / "switchboard.config.json").write_text(text)
    assert found(workspace, title) == []
    path.write_text("{}")
    (workspace.home / "switchboard.config.json").unlink()
    assert found(workspace, title) == []


def test_tools_under_their_own_names_are_judged_as_their_server_listed_them(
    workspace: Workspace,
) -> None:
    entry = server(child_command("echo_child", "notes"), expose="tools", tool_prefix="far-")
    workspace.mcp_json({"notes": entry}, scope="home")
    path = workspace.user_home / ".kiro" / "settings" / "mcp.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"mcpServers": {"switchboard": {"command": "switchboard"}}}))
    assert found(workspace, "Kiro") == []
    assert switchboard(workspace, "call", "notes", "add", "a=1", "b=2").code == 0
    told = [each["message"] for each in found(workspace, "Kiro")]
    assert any(each.startswith("it leaves out or renames `far-add`: ") for each in told)
