"""`doctor`: every kind of trouble is found, with what to type next."""

import contextlib
import shlex
import socket
import sqlite3

import pytest

from cli.commands import UNTRUSTING, switchboard
from support.processes import wait_until_none_mention
from support.workspace import Json, Workspace, child_command, server


def findings(report: Json, subject: str) -> list[tuple[str, str]]:
    return [
        (each["severity"], each["hint"])
        for each in report["findings"]
        if each["subject"] == subject
    ]


def test_a_healthy_workspace_has_no_findings(workspace: Workspace) -> None:
    workspace.echo_child("one")
    done = switchboard(workspace, "doctor")
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith("\nnothing is wrong\n")
    report = switchboard(workspace, "doctor", "--json").report
    assert {"switchboard", "python", "msgspec"} <= set(report["versions"])
    assert report["loop"] in {"uvloop", "asyncio"}


def test_each_trouble_is_found(workspace: Workspace) -> None:
    workspace.mcp_json(
        {
            "lost": server(["no-such-program"]),
            "poor": server(["true"], secret_env={"KEY": "env:NOT_SET_ANYWHERE"}),
            "literal": server(["true"], env={"DIR": "${HOME}/x"}),
        }
    )
    workspace.echo_child("twice", switchboardDescription="Mine.")
    workspace.config_json({"suites": {"twice": {"description": "Yours."}}})
    done = switchboard(workspace, "doctor", "--json")
    report = done.report
    assert done.code == 1
    ((severity, hint),) = findings(report, "lost")
    assert severity == "error"
    assert "switchboard config explain mcp_servers.lost.command" in hint
    assert findings(report, "poor") == [("error", "export NOT_SET_ANYWHERE=…")]
    ((severity, hint),) = findings(report, "twice")
    assert severity == "warning"
    assert any("literal" in each["subject"] for each in report["findings"])


def test_engines_that_agents_run_on_and_that_cannot_be_used_are_found(workspace: Workspace) -> None:
    folder = workspace.home / "agents"
    folder.mkdir()
    for name, engine in (("one", "codex"), ("two", "claude"), ("three", "acp:nobody")):
        (folder / f"{name}.toml").write_text(f'name = "{name}"\nengine = "{engine}"\n', "utf-8")
    programs = '[agents.programs]\ncodex = "/no/codex"\nclaude = "/no/claude"\n'
    workspace.config_toml(programs, scope="home")
    done = switchboard(workspace, "doctor", "--json")
    assert done.code == 1
    told = {each["subject"]: each for each in done.report["findings"]}
    for engine, tool in (
        ("codex", "agent_one"),
        ("claude", "agent_two"),
        ("acp:nobody", "agent_three"),
    ):
        finding = told[f"engine {engine}"]
        assert finding["severity"] == "error"
        assert tool in finding["message"]
        assert finding["hint"]


def test_servers_that_wait_for_trust_are_found(workspace: Workspace) -> None:
    workspace.echo_child("one")
    done = switchboard(workspace, "doctor", env=UNTRUSTING)
    assert done.code == 0
    assert "hint: switchboard trust one\n" in done.out


def test_a_broken_configuration_becomes_findings(workspace: Workspace) -> None:
    workspace.mcp_json({"a": {"comand": "x"}})
    done = switchboard(workspace, "doctor", "--json")
    assert done.code == 1
    assert any("comand" in each["subject"] for each in done.report["findings"])
    assert done.report["home"] == str(workspace.home)
    assert done.report["workspace"] == str(workspace.root.resolve())


def test_deep_starts_every_server(workspace: Workspace) -> None:
    workspace.echo_child("fine")
    workspace.child("gone", child_command("misbehaving_child", "exit-at-once"))
    shallow = switchboard(workspace, "doctor", "--json").report
    assert (shallow["started"], shallow["findings"]) == ([], [])
    done = switchboard(workspace, "doctor", "--deep", "--json")
    assert done.code == 1
    assert [each["suite"] for each in done.report["started"]] == ["fine_suite"]
    assert [severity for severity, _ in findings(done.report, "gone_suite")] == ["error"]
    wait_until_none_mention(str(workspace.root))


def test_without_servers_it_says_how_to_begin(workspace: Workspace) -> None:
    done = switchboard(workspace, "doctor")
    assert done.code == 0
    assert "hint: switchboard add NAME -- COMMAND\n" in done.out


def test_doctor_takes_nothing_else(workspace: Workspace) -> None:
    assert switchboard(workspace, "doctor", "x").code == 2


def test_agents_and_their_engines_are_told_with_version_and_login(workspace: Workspace) -> None:
    workspace.write(".agents/waiting.toml", 'name = "waiting"\n')
    workspace.write(".claude/settings.json", "{}")
    folder = workspace.home / "agents"
    folder.mkdir()
    (folder / "one.toml").write_text('name = "one"\nengine = "claude"\n', "utf-8")
    program = workspace.user_home / "claude"
    program.write_text("#!/bin/sh\necho '2.1.325 (Claude Code)'\n", "utf-8")
    program.chmod(0o700)
    workspace.config_toml(f'[agents.programs]\nclaude = "{program}"\n', scope="home")
    for key, login in (("", "its own login"), ("sk-ant-x", "`ANTHROPIC_API_KEY`")):
        done = switchboard(workspace, "doctor", env={**UNTRUSTING, "ANTHROPIC_API_KEY": key or "-"})
        assert done.code == 0, done.out
        assert "agents     1, 1 not trusted\n" in done.out
        assert f"engine     claude 2.1.325 with {login}, for agent_one\n" in done.out
        assert "hint: switchboard trust .claude\n" in done.out


def test_runs_of_a_newer_version_are_found_with_what_to_do(workspace: Workspace) -> None:
    agents = workspace.home / "agents"
    agents.mkdir()
    (agents / "one.toml").write_text('name = "one"\ndescription = "d"\ninstructions = "i"\n')
    folder = workspace.home / "state"
    folder.mkdir(mode=0o700)
    for version, is_found in ((1, False), (99, True)):
        with contextlib.closing(sqlite3.connect(folder / "runs.db")) as connection:
            connection.execute(f"PRAGMA user_version = {version}")
        done = switchboard(workspace, "doctor", "--json")
        found = findings(done.report, "runs")
        assert bool(found) == is_found
    ((severity, hint),) = found
    assert severity == "error"
    assert hint.startswith("update Switchboard, or: switchboard daemon stop")


def found(workspace: Workspace, subject: str, *words: str) -> list[Json]:
    report = switchboard(workspace, "doctor", "--json", *words).report
    return [each for each in report["findings"] if each["subject"] == subject]


def test_words_in_a_command_belong_into_args(workspace: Workspace) -> None:
    workspace.mcp_json({"long": {"command": "npx -y foo"}})
    (finding,) = found(workspace, "long")
    assert finding["severity"] == "error"
    assert 'write "command": "npx", "args": ["-y", "foo"]' in finding["hint"]


def test_a_home_that_is_a_file_is_found(workspace: Workspace) -> None:
    workspace.echo_child("one")
    place = workspace.user_home / "note"
    place.write_text("", "utf-8")
    workspace.env["SWITCHBOARD_HOME"] = str(place)
    (finding,) = found(workspace, "home")
    assert finding["severity"] == "error"
    assert "is no folder" in finding["message"]
    assert "SWITCHBOARD_HOME" in finding["hint"]


def test_a_port_that_somebody_has_is_found(workspace: Workspace) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        text = f'[server]\ntransport = "http"\nhost = "127.0.0.1"\nport = {port}\n'
        workspace.config_toml(text, scope="home")
        (finding,) = found(workspace, "server.port")
        assert str(port) in finding["message"]
        assert finding["hint"]
    assert found(workspace, "server.port") == []


@pytest.mark.parametrize(
    ("words", "cause", "fix"),
    [
        ("npm error code E404", "does not find the package", "`args`"),
        ("npm error code SELF_SIGNED_CERT_IN_CHAIN", "certificate", "NODE_EXTRA_CA_CERTS"),
        ("npm warn EBADENGINE Unsupported engine", "another version of Node", "node --version"),
        ("python3: No module named mcp_server_tiem", "the module `mcp_server_tiem`", "`args`"),
        ("Error: Cannot find module 'dist/index.js'", "Node does not find", "path in `args`"),
        ("Cannot connect to the Docker daemon at x. Is it up?", "Docker is not", "start Docker"),
        (
            "Error: FOO_API_KEY environment variable is required",
            "it wants the variable `FOO_API_KEY`",
            '"secret_env": {"FOO_API_KEY": "env:FOO_API_KEY"}',
        ),
        ("Missing required environment variable: X_TOKEN", "variable `X_TOKEN`", "export X_TOKEN"),
    ],
)
def test_deep_names_the_usual_causes(
    workspace: Workspace, words: str, cause: str, fix: str
) -> None:
    runner = workspace.user_home / "npx"
    runner.write_text(f"#!/bin/sh\ncat >&2 <<'E'\n{words}\nE\nexit 1\n", "utf-8")
    runner.chmod(0o700)
    workspace.mcp_json({"fetched": server([runner, "-y", "some-package"])})
    (finding,) = found(workspace, "fetched_suite", "--deep")
    assert cause in finding["message"]
    assert words in finding["message"]
    assert fix in finding["hint"]


@pytest.mark.parametrize("script", ["exit 1", "sleep 600"])
def test_the_command_to_try_is_the_real_one(workspace: Workspace, script: str) -> None:
    program = workspace.user_home / "my server"
    program.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    program.chmod(0o700)
    workspace.mcp_json({"own": server([program, workspace.root], rpc_timeout_ms=1500)})
    (finding,) = found(workspace, "own_suite", "--deep")
    line = shlex.join([str(program), str(workspace.root)])
    assert f"try it at a terminal: {line}" in finding["hint"]


def test_deep_tells_nothing_twice(workspace: Workspace) -> None:
    workspace.mcp_json(
        {
            "my server": {"command": "no-such-program"},
            "long": {"command": "npx -y @some/package"},
            "keyed": {"command": "true", "secret_env": {"KEY": "env:NOT_SET_ANYWHERE"}},
        }
    )
    report = switchboard(workspace, "doctor", "--deep", "--json").report
    told = {each["subject"]: each for each in report["findings"] if each["severity"] == "error"}
    assert set(told) == {"my server", "long", "keyed"}
    *_, command = told["my server"]["hint"].partition("see who names it: switchboard ")
    assert switchboard(workspace, *shlex.split(command)).code == 0
    called = switchboard(workspace, "call", "long", "x")
    assert "the command `npx -y @some/package` was not found" in called.err


def test_a_file_that_cannot_be_read_is_not_taken_for_none(workspace: Workspace) -> None:
    workspace.mcp_json({}).write_text('{"mcpServers": {', "utf-8")
    for verb in ("doctor", "list"):
        done = switchboard(workspace, verb)
        assert done.code == 1
        assert ".switchboard/mcp.json:1" in done.out + done.err
        assert "no server is configured" not in done.out + done.err
        assert "switchboard add" not in done.out + done.err


def test_deep_shows_what_a_server_printed_instead_of_messages(workspace: Workspace) -> None:
    program = workspace.user_home / "web-server"
    program.write_text("#!/bin/sh\necho 'Listening on port 3000'\ncat > /dev/null\n", "utf-8")
    program.chmod(0o700)
    workspace.mcp_json({"web": server([program], rpc_timeout_ms=1500)})
    (finding,) = found(workspace, "web_suite", "--deep")
    assert "web-server" in finding["message"]
    assert "Listening on port 3000" in finding["message"]
    assert "rpcTimeoutMs" not in finding["hint"]


def test_a_host_that_starts_what_is_gone_is_found_and_install_mends_it(
    workspace: Workspace,
) -> None:
    gone = workspace.user_home / "old" / "switchboard"
    path = workspace.user_home / ".codex/config.toml"
    path.parent.mkdir()
    path.write_text(f'[mcp_servers.switchboard]\ncommand = "{gone}"\nargs = ["mcp"]\n', "utf-8")
    done = switchboard(workspace, "doctor")
    assert f"Codex: it starts `{gone}`, which is not there" in done.out
    assert "hint: switchboard install codex\n" in done.out
    assert switchboard(workspace, "install", "codex", "--yes", apart=True).code == 0
    assert "which is not there" not in switchboard(workspace, "doctor").out


def test_limits_are_told_with_what_holds_them(workspace: Workspace) -> None:
    workspace.mcp_json({"small": {"command": "true", "limits": {"memory": "1G"}}}, scope="home")
    report = switchboard(workspace, "doctor", "--json").report
    first, second = [each for each in report["findings"] if each["subject"] == "limits"]
    assert first["message"] == "small: at most memory 1G"
    # Which of both it is depends on who started the tests.
    is_held = second["message"].startswith("control groups hold `memory`")
    assert is_held or "no control groups for them: " in second["message"]
    assert is_held or "Delegate=yes" in second["hint"]
