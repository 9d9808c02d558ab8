"""`add`, `remove`, `list` and `trust`: servers come, are looked at, run when trusted, and go."""

import json
import sys
from types import FrameType

import pytest

from cli.commands import UNTRUSTING, switchboard, trust_shown, typed
from support.requirements import requirement
from support.workspace import Json, Workspace, child_command, server
from switchboard.cli.main import main
from switchboard.settings.load import load


def written(workspace: Workspace) -> Json:
    return json.loads((workspace.settings / "mcp.json").read_text("utf-8"))


def test_an_added_server_stands_in_the_file_and_is_trusted(workspace: Workspace) -> None:
    command = child_command("echo_child", "mine")
    done = typed(workspace, "add", "mine", "--", *command)
    assert done == (
        0,
        "added mine to .switchboard/mcp.json; its suite is mine_suite\n",
        (
            "wrote ~/.switchboard/config.toml: settings for all your workspaces, with the reasons\n"
            "hint: switchboard introspect mine_suite\n"
        ),
    )
    assert written(workspace) == {"mcpServers": {"mine": server(command)}}
    called = switchboard(
        workspace, "call", "mine", "echo", "--args", '{"text": "hi"}', env=UNTRUSTING
    )
    assert called == (0, "echo: hi\n", "")


def test_adding_loads_the_configuration_once(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace.root)
    for name, value in workspace.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("SWITCHBOARD_TRUST_WORKSPACE", raising=False)
    loads: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code is load.__code__:
            loads.append(event)

    sys.setprofile(note)
    try:
        code = main(["add", "mine", "--", "true"])
    finally:
        sys.setprofile(None)
    assert (code, len(loads)) == (0, 1)


def test_everything_that_can_be_said_of_a_server_is_written(workspace: Workspace) -> None:
    words = [
        *("add", "full", "--env", "A=1", "--env", "B=x=y", "--secret-env", "KEY=env:MY_KEY"),
        *("--description", "all of it", "--json", "--", "sh", "-c", "true", "--json"),
    ]
    done = typed(workspace, *words)
    report = done.report
    assert (done.code, report["trusted"], report["scope"]) == (0, True, "workspace")
    assert report["runs"] == "sh -c true --json"
    assert written(workspace)["mcpServers"]["full"] == {
        "command": "sh",
        "args": ["-c", "true", "--json"],
        "env": {"A": "1", "B": "x=y"},
        "secret_env": {"KEY": "env:MY_KEY"},
        "description": "all of it",
    }


@pytest.mark.parametrize("transport", ["http", "sse"])
def test_a_remote_server_is_added_by_its_url(workspace: Workspace, transport: str) -> None:
    url = "https://docs.example/mcp"
    words = ("add", "docs", "--url", url, *(("--transport", "sse") if transport == "sse" else ()))
    assert switchboard(workspace, *words).code == 0
    assert written(workspace)["mcpServers"]["docs"] == {"transport": transport, "url": url}


def test_a_global_server_lies_in_the_home_and_needs_no_trust(workspace: Workspace) -> None:
    done = switchboard(workspace, "add", "g", "--global", "--", "true", env=UNTRUSTING)
    assert done.code == 0
    assert not (workspace.settings / "mcp.json").exists()
    (listed,) = switchboard(workspace, "list", "--json", env=UNTRUSTING).report["servers"]
    assert (listed["scope"], listed["trust"]) == ("home", "own")
    assert "login" not in done.err
    remote = switchboard(workspace, "add", "crm", "https://crm.example/mcp", "--global")
    assert "if it wants a login: switchboard login crm\n" in remote.err


def test_a_command_that_is_not_there_is_added_with_a_warning(workspace: Workspace) -> None:
    done = switchboard(workspace, "add", "x", "--", "no-such-program")
    assert done.code == 0
    assert "warning: the command `no-such-program` was not found\n" in done.err


def test_an_existing_server_is_replaced_only_when_asked(workspace: Workspace) -> None:
    workspace.mcp_json({"x": {"command": "one"}})
    refused = switchboard(workspace, "add", "x", "--", "two")
    assert refused.code == 2
    assert ".switchboard/mcp.json  mcpServers.x\n" in refused.err
    assert written(workspace)["mcpServers"]["x"] == {"command": "one"}
    assert switchboard(workspace, "add", "x", "--replace", "--", "two").code == 0
    assert written(workspace)["mcpServers"]["x"] == {"command": "two"}


def test_adding_a_server_does_not_hide_the_users_own_of_that_name_unasked(
    workspace: Workspace,
) -> None:
    workspace.mcp_json({"files": {"command": "echo", "args": ["real"]}}, scope="home")
    refused = switchboard(workspace, "add", "files", "--", "true")
    assert refused.code == 2
    assert "runs `echo real`" in refused.err
    assert "say `--replace`" in refused.err
    listed = switchboard(workspace, "list", "--json").report["servers"]
    assert [(each["scope"], each["target"]) for each in listed] == [("home", "echo real")]
    meant = switchboard(workspace, "add", "files", "--replace", "--", "true")
    assert meant.code == 0, meant.err
    assert "in this workspace it hides your own `files`" in meant.err
    # The other way round nothing is lost, but what is added is not seen here.
    again = switchboard(workspace, "add", "files", "--global", "--replace", "--", "true")
    assert "in this workspace it is hidden by `files` of .switchboard/mcp.json" in again.err


@pytest.mark.parametrize(
    "words",
    [
        ("add",),
        ("add", "x"),
        ("add", "x", "--"),
        ("add", "x", "command"),
        ("add", "x", "--url", "https://x.example", "--", "true"),
        ("add", "x", "--url", "nonsense"),
        ("add", "x", "--url", "https://x.example", "--transport", "stdio"),
        ("add", "x", "--transport", "http", "--", "true"),
        ("add", "x", "--transport", "carrier-pigeon", "--", "true"),
        ("add", "x", "--env", "novalue", "--", "true"),
        ("add", "x", "--env", "1BAD=x", "--", "true"),
        ("add", "x", "--secret-env", "KEY=plain", "--", "true"),
        ("add", "  ", "--", "true"),
    ],
)
def test_a_server_that_makes_no_sense_is_not_added(
    workspace: Workspace, words: tuple[str, ...]
) -> None:
    done = switchboard(workspace, *words)
    assert (done.code, done.out) == (2, "")
    assert not (workspace.settings / "mcp.json").exists()


def test_a_word_without_name_is_not_repeated_because_it_may_be_a_secret(
    workspace: Workspace,
) -> None:
    done = switchboard(workspace, "add", "x", "--env", "hunter2", "--", "true")
    assert "hunter2" not in done.err


def test_a_broken_file_is_never_written_over(workspace: Workspace) -> None:
    path = workspace.mcp_json({})
    path.write_text("{ not json", "utf-8")
    assert switchboard(workspace, "add", "x", "--", "true").code == 2
    assert switchboard(workspace, "remove", "x").code == 2
    assert path.read_text("utf-8") == "{ not json"


def test_a_removed_server_is_gone_and_no_longer_trusted(workspace: Workspace) -> None:
    command = child_command("echo_child")
    switchboard(workspace, "add", "mine", "--", *command, env=UNTRUSTING)
    done = switchboard(workspace, "remove", "mine", env=UNTRUSTING)
    assert done == (0, "removed mine from .switchboard/mcp.json\n", "")
    assert written(workspace) == {"mcpServers": {}}
    # The same text in the file, now put there by somebody else.
    workspace.mcp_json({"mine": server(command)})
    (listed,) = switchboard(workspace, "list", "--json", env=UNTRUSTING).report["servers"]
    assert listed["trust"] == "waiting"


def test_the_report_of_remove_names_the_file(workspace: Workspace) -> None:
    switchboard(workspace, "add", "g", "--global", "--", "true")
    report = switchboard(workspace, "remove", "g", "--json").report
    assert (report["name"], report["scope"]) == ("g", "home")


def test_several_servers_are_removed_at_once_or_none_is(workspace: Workspace) -> None:
    workspace.mcp_json({"a": {"command": "true"}, "b": {"command": "true"}})
    switchboard(workspace, "add", "g", "--global", "--", "true")
    wrong = switchboard(workspace, "remove", "a", "g", "nobody")
    assert (wrong.code, wrong.out) == (1, "")
    assert "`nobody`" in wrong.err
    assert set(written(workspace)["mcpServers"]) == {"a", "b"}
    done = switchboard(workspace, "remove", "a", "g", "a")
    assert done.code == 0
    assert [line.split()[1] for line in done.out.splitlines()] == ["a", "g"]
    assert set(written(workspace)["mcpServers"]) == {"b"}
    assert switchboard(workspace, "remove", "g").code == 1


def test_a_server_of_another_file_is_not_removed(workspace: Workspace) -> None:
    workspace.echo_child("child")
    done = switchboard(workspace, "remove", "child")
    assert (done.code, done.out) == (1, "")
    assert ".switchboard/mcps/child/.mcp.json" in done.err


def test_removing_what_is_not_there_fails(workspace: Workspace) -> None:
    workspace.mcp_json({"github": {"command": "true"}})
    done = switchboard(workspace, "remove", "githb")
    assert (done.code, done.out) == (1, "")
    assert "hint: did you mean `github`?\n" in done.err


def test_list_shows_every_server_and_starts_none(workspace: Workspace) -> None:
    marker = workspace.root / "started"
    workspace.mcp_json({"local": {"command": "touch", "args": [str(marker)]}})
    workspace.mcp_json({"mine": {"url": "https://x.example/mcp"}}, scope="home")
    workspace.config_json({"suites": {"local": {"suiteName": "renamed"}}})
    done = switchboard(workspace, "list", env=UNTRUSTING)
    assert done.code == 0
    lines = [line.split() for line in done.out.splitlines()]
    assert lines == [
        ["SERVER", "SUITE", "TRANSPORT", "SANDBOX", "TRUST", "FROM", "RUNS"],
        [
            "local",
            "renamed",
            "stdio",
            "none",
            "NOT",
            "TRUSTED",
            ".switchboard/mcp.json:3",
            "touch",
            str(marker),
        ],
        [
            "mine",
            "mine_suite",
            "http",
            "yours",
            "~/.switchboard/mcp.json:3",
            "https://x.example/mcp",
        ],
    ]
    assert done.err == "\nhint: switchboard trust local\n"
    assert not marker.exists()


def test_list_shows_what_confines_each_server_within_eighty_columns(workspace: Workspace) -> None:
    long = "files-server"
    workspace.mcp_json(
        {
            "free": {"command": "true"},
            long: {
                "command": "true",
                "args": ["--word"] * 20,
                "limits": {"memory": "1G", "cpu": 60},
                "read_roots": ["~/data"],
            },
            "hosts": {"command": "true", "egress": ["api.example.org"]},
        },
        scope="home",
    )
    done = switchboard(workspace, "list")
    rows = {line.split()[0]: line.split() for line in done.out.splitlines() if line}
    assert rows["free"][3] == "none"
    assert rows[long][3] == rows["hosts"][3] == "default"
    assert f"sandbox of {long}: default, reads ~/data, at most cpu 60 s, memory 1G" in done.out
    assert "sandbox of hosts: default, reaches api.example.org" in done.out
    assert "sandbox of free" not in done.out
    head = done.out.splitlines()[0]
    assert head.index("TRUST") + len("NOT TRUSTED") <= 80


def test_list_says_who_starts_in_an_empty_folder(workspace: Workspace) -> None:
    workspace.mcp_json({"mine": {"command": "true"}}, scope="home")
    done = switchboard(workspace, "list", env=UNTRUSTING)
    assert "started in an empty folder because this one is not trusted: mine\n" in done.err
    assert "hint: switchboard trust --folder\n" in done.err
    assert switchboard(workspace, "list", "--json", env=UNTRUSTING).report["starts_apart"] == [
        "mine"
    ]


def test_list_hides_secrets_and_trust_hides_nothing(workspace: Workspace) -> None:
    token = "ghp_" + "a1" * 18
    workspace.mcp_json(
        {
            "local": {"command": "run", "args": ["--token", "hunter2", token]},
            "remote": {"url": "https://x.example/mcp?api_key=hunter2"},
        }
    )
    command = f'[mcp.tool]\ncommand = "run"\nargs = ["--token", "hunter2", "{token}"]\n'
    workspace.config_toml(command, scope="home")
    for verb in ("list", "doctor"):
        done = switchboard(workspace, verb, env=UNTRUSTING)
        assert "hunter2" not in done.out
        assert token not in done.out
        assert "[redacted]" in done.out
    listed = switchboard(workspace, "list", "--json", env=UNTRUSTING).report
    assert "run --token '[redacted]' '[redacted]'" in {each["runs"] for each in listed["commands"]}
    # A program could be called like a secret, and whoever trusts it has to see that.
    trusted = switchboard(workspace, "trust", env=UNTRUSTING).out
    assert f"run --token hunter2 {token}" in trusted


def test_an_empty_list_says_what_to_type(workspace: Workspace) -> None:
    assert switchboard(workspace, "list") == (
        0,
        "",
        "no server is configured\nhint: switchboard add NAME -- COMMAND\n",
    )


def test_a_list_says_why_a_server_is_not_in_it(workspace: Workspace) -> None:
    workspace.write(".switchboard/mcps/mine.json", "{}")
    told = switchboard(workspace, "list").err
    assert told.startswith(
        "no server is configured\nwarning: .switchboard/mcps/mine.json: no child"
    )
    assert told.endswith("hint: switchboard config check\n")


def test_trust_without_names_only_shows(workspace: Workspace) -> None:
    workspace.echo_child("echo")
    done = switchboard(workspace, "trust", env=UNTRUSTING)
    assert done.code == 0
    assert "echo  waiting" in done.out
    assert "switchboard trust echo" in done.err
    assert not (workspace.home / "trust.json").exists()


def test_a_trusted_server_runs_until_trust_is_taken_back(workspace: Workspace) -> None:
    workspace.echo_child("echo")
    call = ("call", "echo", "echo", "--args", '{"text": "hi"}')
    refused = switchboard(workspace, *call, env=UNTRUSTING)
    assert refused.code == 1
    assert "hint: look at what it runs, then: switchboard trust echo\n" in refused.err
    report = trust_shown(workspace, "echo", "--json", env=UNTRUSTING).report
    assert report["changed"] == ["echo"]
    assert [entry["state"] for entry in report["entries"]] == ["trusted"]
    assert switchboard(workspace, *call, env=UNTRUSTING).code == 0
    revoked = switchboard(workspace, "trust", "--revoke", "echo", env=UNTRUSTING)
    assert "no longer trusts `echo`" in revoked.err
    assert switchboard(workspace, *call, env=UNTRUSTING).code == 1


def test_trust_of_all_and_its_list(workspace: Workspace) -> None:
    workspace.echo_child("one")
    workspace.echo_child("two")
    assert trust_shown(workspace, "--all", env=UNTRUSTING).code == 0
    report = switchboard(workspace, "trust", "--list", "--json", env=UNTRUSTING).report
    assert {entry["name"]: entry["state"] for entry in report["entries"]} == {
        "one": "trusted",
        "two": "trusted",
    }


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("trust", "nobody"), 1),
        (("trust", "echo", "--all"), 2),
        (("trust", "--revoke"), 2),
        (("trust", "--list", "--all"), 2),
    ],
)
def test_trust_that_makes_no_sense_changes_nothing(
    workspace: Workspace, words: tuple[str, ...], code: int
) -> None:
    workspace.echo_child("echo")
    assert switchboard(workspace, *words, env=UNTRUSTING).code == code
    assert not (workspace.home / "trust.json").exists()


def test_a_command_cannot_hide_itself_from_who_is_to_trust_it(workspace: Workspace) -> None:
    args = ["rm -rf ~ #", "\x1b[2K\rharmless\nother  trusted", "\u202egnp.exe"]
    workspace.mcp_json({"evil": {"command": "sh", "args": args}})
    for verb in ("trust", "list", "doctor"):
        out = switchboard(workspace, verb, env=UNTRUSTING).out
        assert "\x1b" not in out
        lines = [line for line in out.splitlines() if "harmless" in line]
        assert len(lines) == (2 if verb == "trust" else 1)
        for line in lines:
            assert r"\x1b[2K\rharmless\nother" in line
            assert r"\u202e" in line


def test_trust_in_what_is_gone_can_be_taken_back(workspace: Workspace) -> None:
    workspace.mcp_json({"x": {"command": "true"}})
    trust_shown(workspace, "x", env=UNTRUSTING)
    workspace.mcp_json({})
    report = switchboard(workspace, "trust", "--revoke", "x", "--json", env=UNTRUSTING).report
    assert report["changed"] == ["x"]


def test_a_name_with_blanks_can_be_pasted_from_the_hint(workspace: Workspace) -> None:
    workspace.mcp_json({"my notes": {"command": "true"}})
    done = switchboard(workspace, "list", env=UNTRUSTING)
    assert done.err == "\nhint: switchboard trust 'my notes'\n"
    assert trust_shown(workspace, "my notes", env=UNTRUSTING).code == 0


@requirement("S0.124")
def test_the_workspace_may_come_from_the_environment(workspace: Workspace) -> None:
    workspace.echo_child("echo")
    env = {"WORKSPACE_DIR": str(workspace.root)}
    report = switchboard(workspace, "list", "--json", env=env, cwd=workspace.user_home).report
    assert report["workspace"] == str(workspace.root.resolve())
    assert [entry["name"] for entry in report["servers"]] == ["echo"]


def test_a_workspace_that_is_no_directory_is_refused(workspace: Workspace) -> None:
    done = switchboard(workspace, "list", "-C", str(workspace.root / "missing"))
    assert (done.code, done.out) == (2, "")
    assert "the workspace is not a directory" in done.err


def test_a_file_given_by_name_adds_its_servers(workspace: Workspace) -> None:
    text = json.dumps({"servers": {"o": {"command": "true"}}})
    path = workspace.user_home / "other.json"
    path.write_text(text, "utf-8")
    report = switchboard(workspace, "list", "--config", str(path), "--json").report
    assert [(entry["name"], entry["trust"]) for entry in report["servers"]] == [("o", "own")]
    # A file of the workspace is its word, whoever names it.
    path = workspace.write("other.json", text)
    report = switchboard(workspace, "list", "--config", str(path), "--json", env=UNTRUSTING).report
    assert [(entry["name"], entry["trust"]) for entry in report["servers"]] == [("o", "waiting")]
    missing = switchboard(workspace, "list", "--config", "missing.json")
    assert (missing.code, "missing.json: there is no such file" in missing.err) == (1, True)


def test_servers_that_clash_are_shown_as_left_out(workspace: Workspace) -> None:
    workspace.mcp_json({"a": {"command": "true"}, "b": {"command": "true"}})
    workspace.config_json({"suites": {"a": {"suiteName": "Notes"}, "b": {"suiteName": "notes"}}})
    listed = switchboard(workspace, "list")
    assert listed.out.count("LEFT OUT") == 2
    assert "left out: a: its suite would be named `Notes`, as is that of `b`" in listed.err
    # Once, and not as a warning as well.
    assert listed.err.count("its suite would be named `Notes`") == 1
    assert "no server is configured" not in listed.err
    called = switchboard(workspace, "call", "a", "x")
    assert called.code == 1
    assert "the server `a` is left out: its suite would be named `Notes`" in called.err
    assert "hint: choose another `suiteName`" in called.err
    doctor = switchboard(workspace, "doctor")
    assert "servers    0, 2 left out\n" in doctor.out
    assert "no server is configured" not in doctor.out
    assert "the server `b` is left out" in doctor.out
    check = switchboard(workspace, "config", "check")
    assert check.out.startswith("the configuration can be used: 0 servers, 2 left out\n")
    assert "warning: left out: a: its suite would be named `Notes`" in check.out


def test_a_server_that_is_left_out_cannot_be_trusted_as_it_is(workspace: Workspace) -> None:
    workspace.mcp_json({"time": {"command": "true"}}, scope="home")
    workspace.mcp_json({"Time": {"command": "false"}})
    refused = switchboard(workspace, "trust", "Time", env=UNTRUSTING)
    assert refused.code == 1
    assert "the server `Time` is left out" in refused.err
    everything = trust_shown(workspace, "--all", env=UNTRUSTING)
    assert everything.code == 0
    assert "left out: Time: " in everything.err
    assert "not trusted yet" not in everything.err


def test_a_name_that_nobody_has_lists_each_server_once(workspace: Workspace) -> None:
    workspace.mcp_json({"docs": server(["true"])}, scope="home")
    told = switchboard(workspace, "introspect", "nothing-like-it")
    assert "known: `docs`" in told.err
    assert "docs_suite" not in told.err
    assert "did you mean `docs_suite`?" in switchboard(workspace, "introspect", "doc_suite").err


def test_what_is_said_of_a_broken_file_holds_for_a_running_daemon(workspace: Workspace) -> None:
    (workspace.home / "mcp.json").write_text("{", "utf-8")
    told = switchboard(workspace, "list").err
    assert "a daemon that runs already goes on with what they said before" in told
