"""For each provider a workspace in which it has something to do, and what that is."""

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from support.workspace import Workspace, child_command, server

Json = dict[str, Any]


class Use(NamedTuple):
    """A tool, and what it is given."""

    tool: str
    arguments: Json


class Case(NamedTuple):
    """What the contract needs to know of a provider."""

    # Writes the configuration that calls for it.
    configure: Callable[[Workspace], None]
    # What it answers, and a word of the answer.
    right: Use
    answer: str
    # What it refuses by a fault, and the reason.
    wrong: Use
    reason: str
    # What takes longer than the test; nothing if everything it does is quick.
    slow: Use | None = None
    # What has to be called before; the handle of its result takes the place of `HANDLE`.
    first: Use | None = None
    # Whether its tools are known only when it runs.
    lists_when_running: bool = False


def _suites(workspace: Workspace) -> None:
    workspace.echo_child()


def _direct(workspace: Workspace) -> None:
    workspace.mcp_json({"echo": server(child_command("echo_child"), expose="tools")})


def _find(workspace: Workspace) -> None:
    workspace.echo_child()
    # What is found is judged, which takes asking the server what it has.
    lines = ("enable_mcp_server_surface = true", 'surface_tokens = "lean"')
    workspace.config_toml("\n".join(lines), scope="home")


def _recall(workspace: Workspace) -> None:
    workspace.echo_child()
    workspace.config_toml("[results]\ninline_tokens = 1000\n", scope="home")


def _commands(workspace: Workspace) -> None:
    program = (
        "import json, sys, time\n"
        "given = json.load(sys.stdin)\n"
        "print('begun', given['text'], flush=True)\n"
        "time.sleep(given.get('seconds', 0))\n"
    )
    lines = [
        "[mcp.say]",
        f"command = {json.dumps(sys.executable)}",
        f"args = {json.dumps(['-I', '-S', '-c', program])}",
        'side_effects = ["filesystem-read"]',
        "requires_approval = false",
        "input_schema = { type = 'object', required = ['text'] }",
    ]
    guard = "enable_mcp_server_surface = true\n"
    workspace.config_toml(guard + "\n".join(lines), scope="home")


def _yard(workspace: Workspace) -> None:
    workspace.write("switchyard.toml", '[services.web]\ncommand = ["true"]\n')
    for words in (["init", "-q"], ["add", "switchyard.toml"], ["commit", "-qm", "begin"]):
        name = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *name, *words], cwd=workspace.root, check=True)


def _agents(workspace: Workspace) -> None:
    command, *args = child_command("acp_child")
    lines = [
        "[agents.acp.parrot]",
        f"command = {json.dumps(command)}",
        f"args = {json.dumps(args)}",
    ]
    workspace.config_toml("\n".join(lines), scope="home")
    folder = workspace.home / "agents"
    folder.mkdir()
    (folder / "parrot.toml").write_text('name = "parrot"\nengine = "acp:parrot"\n', "utf-8")


def _suite_call(subtool: str, **args: Any) -> Json:
    return {"action": "call", "subtool": subtool, "args": args}


CASES: dict[str, Case] = {
    "suites": Case(
        _suites,
        Use("echo_suite", _suite_call("echo", text="ahoy")),
        "ahoy",
        Use("echo_suite", _suite_call("no_such_tool")),
        "unknown-subtool",
        slow=Use("echo_suite", _suite_call("stall")),
    ),
    "direct": Case(
        _direct,
        Use("echo", {"text": "ahoy"}),
        "ahoy",
        Use("refuse", {}),
        "child-lacks-tools",
        slow=Use("stall", {}),
        lists_when_running=True,
    ),
    "commands": Case(
        _commands,
        Use("say", {"text": "ahoy"}),
        "ahoy",
        Use("say", {}),
        "arguments-invalid",
        slow=Use("say", {"text": "ahoy", "seconds": 60}),
    ),
    "yard": Case(
        _yard,
        Use("switchyard_status", {}),
        "services",
        Use("switchyard_status", {"no": "such"}),
        "arguments-invalid",
    ),
    "agents": Case(
        _agents,
        Use("agent_parrot", {"task": "ahoy", "cwd": "/"}),
        "ahoy",
        Use("agent_parrot", {"task": "ahoy", "cwd": "here"}),
        "cwd-not-absolute",
        slow=Use("agent_parrot", {"task": "hang", "cwd": "/"}),
    ),
    "find": Case(
        _find,
        Use("call_tool", {"tool": "echo.echo", "args": {"text": "ahoy"}}),
        "ahoy",
        Use("call_tool", {"tool": "nobody.nothing"}),
        "unknown-tool",
        slow=Use("call_tool", {"tool": "echo.stall"}),
    ),
    "recall": Case(
        _recall,
        Use("read_result", {"handle": "HANDLE", "grep": "ahoy"}),
        "ahoy",
        Use("read_result", {"handle": "r1-nobody"}),
        "unknown-result",
        first=Use("echo_suite", _suite_call("echo", text="ahoy " * 2_000)),
    ),
}
