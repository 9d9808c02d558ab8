"""`introspect` and `call`: the road of a client, from the command line."""

import json

import pytest

from cli.commands import Finished, switchboard
from support.processes import wait_until_none_mention
from support.requirements import requirement
from support.workspace import Workspace, child_command, server


@pytest.fixture
def workspace(either_workspace: Workspace) -> Workspace:
    return either_workspace


def call(workspace: Workspace, *words: str, stdin: str = "") -> Finished:
    done = switchboard(workspace, "call", *words, stdin=stdin)
    workspace.stop_daemon()
    wait_until_none_mention(str(workspace.root))
    return done


@requirement("S2.108")
def test_one_failing_server_does_not_hide_the_others(workspace: Workspace) -> None:
    workspace.echo_child("one")
    workspace.child("broken", child_command("misbehaving_child", "exit-at-once"))
    workspace.echo_child("two")
    done = switchboard(workspace, "introspect", "--json")
    assert done.code == 1
    suites = {suite["suite"]: suite for suite in done.report["suites"]}
    assert set(suites) == {"one_suite", "broken_suite", "two_suite"}
    assert suites["broken_suite"]["failure"]["code"] == "unavailable"
    for name in ("one_suite", "two_suite"):
        assert suites[name]["failure"] is None
        assert {"echo", "add"} <= {tool["name"] for tool in suites[name]["tools"]}
    workspace.stop_daemon()
    wait_until_none_mention(str(workspace.root))


def test_people_see_signatures_and_errors_apart(workspace: Workspace) -> None:
    workspace.echo_child("one")
    workspace.mcp_json({"lost": {"command": "no-such-program"}})
    done = switchboard(workspace, "introspect")
    assert done.code == 1
    assert "one_suite" in done.out
    assert "  add(a: number, b: number)\n" in done.out
    assert "lost_suite" not in done.out
    assert done.err.startswith("error: lost_suite: the command `no-such-program` was not found\n")


def test_one_suite_is_named_by_itself_or_by_its_server(workspace: Workspace) -> None:
    workspace.echo_child("one")
    workspace.config_json({"suites": {"one": {"suiteName": "first"}}})
    by_server = switchboard(workspace, "introspect", "one")
    assert by_server.code == 0
    assert by_server == switchboard(workspace, "introspect", "first")


def test_one_tool_comes_with_its_schema(workspace: Workspace) -> None:
    workspace.echo_child("one")
    done = switchboard(workspace, "introspect", "one", "add")
    name, _, schema = done.out.split("\n", 2)
    assert (done.code, name) == (0, "add")
    assert json.loads(schema)["required"] == ["a", "b"]
    report = switchboard(workspace, "introspect", "one", "add", "--json").report
    assert [tool["name"] for tool in report["suites"][0]["tools"]] == ["add"]


def test_full_descriptions_are_shown_when_asked(workspace: Workspace) -> None:
    workspace.echo_child("one")
    workspace.config_json({"introspection": {"summaryMaxChars": 8}})
    short = switchboard(workspace, "introspect", "one", "--json").report["suites"][0]["tools"]
    long = switchboard(workspace, "introspect", "one", "--full", "--json").report
    assert max(len(tool["summary"]) for tool in short) <= 8
    assert max(len(tool["summary"]) for tool in long["suites"][0]["tools"]) > 8


def test_without_servers_there_is_nothing_to_introspect(workspace: Workspace) -> None:
    done = switchboard(workspace, "introspect")
    assert (done.code, done.out) == (0, "")
    assert done.err.endswith("hint: switchboard list\n")


def test_a_call_prints_what_the_tool_says(workspace: Workspace) -> None:
    workspace.echo_child("one")
    assert call(workspace, "one", "add", "--args", '{"a": 19, "b": 23}') == (0, "42\n", "")


def test_the_report_of_a_call_holds_the_whole_result(workspace: Workspace) -> None:
    workspace.echo_child("one")
    report = call(workspace, "one", "add", "--args", '{"a": 1, "b": 2}', "--json").report
    assert report["is_error"] is False
    assert report["result"]["structuredContent"] == {"sum": 3}


def test_arguments_come_from_a_file_or_from_stdin(workspace: Workspace) -> None:
    workspace.echo_child("one")
    path = workspace.write("args.json", '{"text": "from a file"}')
    assert call(workspace, "one", "echo", "--args", f"@{path}").out == "echo: from a file\n"
    piped = call(workspace, "one", "echo", "--args", "-", stdin='{"text": "piped"}')
    assert piped.out == "echo: piped\n"


def test_what_is_not_text_is_named(workspace: Workspace) -> None:
    workspace.echo_child("one")
    done = call(workspace, "one", "picture")
    assert done.code == 0
    assert done.out.splitlines()[0].startswith("[image, image/png, ")


def test_a_tool_that_fails_ends_with_1(workspace: Workspace) -> None:
    workspace.echo_child("one")
    done = call(workspace, "one", "fail", "--args", '{"why": "no reason"}')
    assert done == (1, "", "error: `fail` failed: failed: no reason\n")
    report = call(workspace, "one", "fail", "--json").report
    assert report["is_error"] is True


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (("nobody", "echo"), "not_found", "unknown-server"),
        (("one", "ech"), "not_found", "unknown-subtool"),
        (("one", "secret"), "permission_denied", "subtool-not-allowed"),
        (("gone", "echo"), "unavailable", "child-exited"),
        (("lost", "echo"), None, None),
    ],
)
def test_a_fault_ends_with_1_and_says_what_to_do(
    workspace: Workspace, words: tuple[str, ...], code: str | None, reason: str | None
) -> None:
    workspace.echo_child("one")
    workspace.config_json({"suites": {"one": {"expose": {"deny": ["secret"]}}}})
    workspace.child("gone", child_command("misbehaving_child", "exit-at-once"))
    workspace.mcp_json({"lost": server(["no-such-program"])})
    done = call(workspace, *words, "--json")
    assert (done.code, done.err) == (1, "")
    report = done.report
    assert report["message"]
    if code is not None:
        assert (report["code"], report["reason"]) == (code, reason)
    for_people = call(workspace, *words)
    assert (for_people.code, for_people.out) == (1, "")
    assert for_people.err.startswith(f"error: {report['message']}\n")


@pytest.mark.parametrize(
    "given", ["not json", "[1]", '"text"', "", "@missing.json", "-", "{", '{"a": NaN}']
)
def test_arguments_that_are_no_object_end_with_2(workspace: Workspace, given: str) -> None:
    workspace.echo_child("one")
    done = call(workspace, "one", "echo", f"--args={given}")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: ")


def test_a_call_that_takes_too_long_ends_with_1_and_leaves_nothing(workspace: Workspace) -> None:
    workspace.echo_child("one", rpcTimeoutMs=500)
    done = call(workspace, "one", "stall", "--json")
    assert done.code == 1
    assert done.report["code"] == "deadline_exceeded"


def test_a_tool_that_asks_back_is_told_as_such(workspace: Workspace) -> None:
    workspace.child("asking", child_command("frank_child", "modern", "asking", "0"))
    asks = {"q": {"method": "elicitation/create", "params": {"message": "Who?"}}}
    arguments = json.dumps({"questions": asks})
    done = call(workspace, "asking", "ask", "--args", arguments, "--json")
    assert (done.code, done.report["reason"]) == (1, "child-asks")
