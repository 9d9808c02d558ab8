"""Where bubblewrap cannot work and the user chose the weaker sandbox: whole commands."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from cli.commands import switchboard
from support.mcp_stdio import talking_to, text_of
from support.reading import read_it
from support.requirements import requirement
from support.workspace import CHECKOUT, Workspace, child_command, server
from switchboard.children.schema import ServerEntry
from switchboard.children.server_launches import ServerLaunches
from switchboard.core.catalog.tools import ToolSpec
from switchboard.settings.load import load_settings

CHOSEN = 'sandbox_fallback = "landlock"\n'
TOOL = """
guard = true
[mcp.look]
command = "sh"
args = ["-c", "cat note.txt .env; true"]
side_effects = ["filesystem-read"]
requires_approval = false
"""
WEAKER = "weaker than bubblewrap"
# As where the kernel forbids what bubblewrap needs. Loaded by each process of the test.
NO_BUBBLEWRAP = """
from switchboard.sandbox.probe import Probe, Unusable
Probe.look = lambda self: Unusable(why="it may make no namespaces", fix="allow them")
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Workspace(tmp_path)
    folder = tmp_path / "patch"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(NO_BUBBLEWRAP)
    made.env["PYTHONPATH"] = str(folder)
    made.mcp_json(
        {
            "echo": server(
                child_command("echo_child"),
                sandbox_profile="default",
                read_roots=[str(CHECKOUT)],
            )
        },
        scope="home",
    )
    return made


@requirement("S3.98")
async def test_a_server_runs_in_it_where_the_user_chose_it(workspace: Workspace) -> None:
    workspace.config_toml(CHOSEN + TOOL, scope="home")
    workspace.write("note.txt", "words of the workspace")
    workspace.write(".env", "key")
    command = workspace.command("mcp")
    async with talking_to(command, cwd=workspace.root, env=workspace.env, patience=60) as client:
        await client.initialize()
        answer = await client.call_subtool("echo_suite", "echo", {"text": "hello"})
        assert "hello" in text_of(answer)
        note = await client.call("look", {})
        assert "words of the workspace" in text_of(note)
        assert "key" not in text_of(note)
        assert await client.close() == 0


def test_it_is_told_as_weaker_wherever_it_is_told_at_all(workspace: Workspace) -> None:
    workspace.config_toml(CHOSEN + TOOL, scope="home")
    report = switchboard(workspace, "doctor", "--json").report
    assert WEAKER in report["sandbox"]
    (finding,) = [each for each in report["findings"] if each["subject"] == "sandbox_fallback"]
    assert finding["severity"] == "warning"
    assert WEAKER in finding["message"]
    assert "no namespaces" in finding["message"]
    assert finding["hint"] == "allow them"
    listed = json.dumps(switchboard(workspace, "list", "--json").report)
    # A server and a command tool.
    assert listed.count(WEAKER) == 2


def test_without_the_choice_nothing_runs_and_that_is_told(workspace: Workspace) -> None:
    report = switchboard(workspace, "doctor", "--json").report
    assert report["sandbox"] == "none: it may make no namespaces"
    assert any("not shown: sandbox unavailable" in each["message"] for each in report["findings"])


def test_every_command_gives_the_same_reason_why_a_server_cannot_be_used(
    workspace: Workspace,
) -> None:
    why = "sandbox unavailable: it may make no namespaces"
    choice = '`sandbox_fallback = "landlock"`'
    shown = switchboard(workspace, "list")
    assert "LEFT OUT" in shown.out
    assert f"left out: echo: {why}" in shown.err
    assert choice in shown.err
    for words in (("call", "echo", "echo"), ("introspect", "echo")):
        refused = switchboard(workspace, *words)
        assert refused.code == 1
        assert f"the server `echo` is left out: {why}" in refused.err
        assert "allow them" in refused.err
        assert choice in refused.err
        assert "tools.deny" not in refused.err
    doctor = switchboard(workspace, "doctor")
    assert f"echo: not shown: {why}" in doctor.out
    assert choice in doctor.out


def test_the_daemon_says_it_as_well(workspace: Workspace) -> None:
    """Its boards name who is left out; so does a look at everything that can be called."""
    with TemporaryDirectory(prefix="sb-", ignore_cleanup_errors=True) as folder:
        served = Workspace(Path(folder), daemon=True)
        served.env["PYTHONPATH"] = workspace.env["PYTHONPATH"]
        served.mcp_json({"echo": server(["true"], sandbox_profile="default")}, scope="home")
        try:
            (suite,) = switchboard(served, "introspect", "--json").report["suites"]
            assert suite["suite"] == "echo_suite"
            assert suite["failure"]["reason"] == "server-left-out"
            status = switchboard(served, "status")
            assert "left out: echo: sandbox unavailable: it may make no namespaces" in status.out
        finally:
            served.stop_daemon()


def test_what_the_weaker_one_cannot_do_is_told_before_a_start(workspace: Workspace) -> None:
    workspace.config_toml(CHOSEN, scope="home")
    workspace.mcp_json(
        {
            "hosts": server(["true"], egress=["example.org"]),
            "few": server(["true"], limits={"processes": 8}),
            "fine": server(["true"], limits={"memory": "1G"}),
        },
        scope="home",
    )
    findings = switchboard(workspace, "doctor", "--json").report["findings"]
    told = {each["subject"]: each["message"] for each in findings if each["severity"] == "error"}
    assert sorted(told) == ["few", "hosts"]
    assert "`egress` needs the sandbox of Linux" in told["hosts"]
    assert "`processes` in `limits` needs bubblewrap" in told["few"]


def test_a_workspace_cannot_choose_it(workspace: Workspace) -> None:
    workspace.config_toml(CHOSEN)
    settings = load_settings(workspace=str(workspace.root), environ=workspace.env)
    assert settings.sandbox_fallback == "none"
    assert {entry.sandbox_fallback for entry in settings.servers} == {"none"}
    assert any("sandbox_fallback" in str(each) for each in settings.warnings)


def test_a_question_names_it() -> None:
    """What is asked, remembered and written down is the name of what really confines."""
    entry = ServerEntry(name="x", transport="stdio", command="x", sandbox_profile="default")
    tool = ToolSpec(name="t", provider="p")
    weaker = ServerEntry(
        name="x",
        transport="stdio",
        command="x",
        sandbox_profile="default",
        weaker_sandbox="landlock (weaker)",
    )
    assert ServerLaunches(entry, "/")[tool].sandbox == "default"
    assert ServerLaunches(weaker, "/")[tool].sandbox == "landlock (weaker)"


async def test_status_questions_and_records_name_it_as_weaker(workspace: Workspace) -> None:
    with TemporaryDirectory(prefix="sb-", ignore_cleanup_errors=True) as folder:
        served = Workspace(Path(folder), daemon=True)
        served.env["PYTHONPATH"] = workspace.env["PYTHONPATH"]
        served.config_toml(CHOSEN + "guard = true\n", scope="home")
        entry = server(
            child_command("echo_child"),
            sandbox_profile="default",
            read_roots=[str(CHECKOUT)],
            trust_annotations=False,
        )
        served.mcp_json({"echo": entry}, scope="home")
        try:
            command = served.command("mcp")
            async with talking_to(command, cwd=served.root, env=served.env, patience=60) as client:
                await client.initialize(capabilities={"elicitation": {}})
                arguments = {"action": "call", "subtool": "echo", "args": {"text": "x"}}
                call = client.begin("tools/call", {"name": "echo_suite", "arguments": arguments})
                question = await client.message("elicitation/create", patience=30)
                assert WEAKER in question["params"]["message"]
                await read_it()
                client.send({"id": question["id"], "result": {"action": "accept", "content": {}}})
                await client.answer_to(call, patience=30)
                shown = json.dumps(switchboard(served, "status", "--json").report)
                assert WEAKER in shown
            served.stop_daemon()
            exported = switchboard(served, "audit", "export", "--json").out
            assert WEAKER in exported
        finally:
            served.stop_daemon()
