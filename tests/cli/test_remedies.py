"""Every command that a text of ours tells somebody to type is typed: it exists, and answers."""

import re
import shlex
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from cli.commands import switchboard
from support.printed_commands import SOMETHING, remedies, usage_of
from support.requirements import attack
from support.terminal import answered
from support.workspace import Workspace, child_command, server
from switchboard.cli.options import PROGRAM
from switchboard.cli.table import VERBS
from switchkit.cli.usage import read_arguments, split_verb

# What stands in the place of what only the moment knows.
_WORDS = {
    "NAME": "notes",
    "HOST": "codex",
    "SUITE": "notes_suite",
    "SERVER": "notes",
    "COMMAND": shlex.join(child_command("echo_child", "more")),
    "TEXT": "hello",
    "NUMBER": "8099",
    "DIR": ".",
    "KEY": "TOKEN",
    SOMETHING: "notes",
}
_BEGINS = re.compile(r"\bswitchboard (?=[a-z])")
_PLACEHOLDER = re.compile(r"[A-Z]{2,}|…+")
# Those whose placeholders stand for something else, or whose text goes on with what is typed.
_FILLED = {
    "add": "add more -- true",
    "add NAME -- COMMAND": "add more -- true",
    "add NAME --sandbox default -- …": "add more --sandbox default -- true",
    "agents run … --task TEXT": "agents run nobody --task hello",
    "agents show …": "agents show nobody",
    "approvals approve …": "approvals approve k3f9x2mq",
    "approvals approve … --yes": "approvals approve k3f9x2mq --yes",
    "approvals devices ID --remove": "approvals devices k3f9x2mq --remove",
    "approvals devices … --remove": "approvals devices k3f9x2mq --remove",
    "approvals rules … --remove": "approvals rules k3f9x2mq --remove",
    "approvals show …": "approvals show k3f9x2mq",
    "approvals …": "approvals rules",
    "approvals … …": "approvals show k3f9x2mq",
    "audit show …": "audit show 1",
    "audit verify --expect …": f"audit verify --expect 1:{'0' * 64}",
    "call … --args": 'call notes add --args \'{"a": 1, "b": 2}\'',
    "config explain": "config explain tools.deny",
    "config explain …": "config explain mcp_servers.notes.command",
    "disable": "disable notes",
    "egress NAME --forget …": "egress notes --forget example.com",
    "find": "find add",
    "help": "help setup",
    "help …": "help setup",
    "install": "install codex --allow --yes",
    "install …": "install codex --yes",
    "introspect": "introspect notes",
    "introspect SUITE --… …": "introspect notes_suite --worktree main",
    "mcp auth": "mcp auth status",
    "mcp auth … NAME": "mcp auth status docs",
    "mcp auth … … --account …": "mcp auth logout docs --account work",
    "login …": "login docs --no-browser",
    "result …": "result 0123456789-1",
    "runs reply …": "runs reply r-01 hello",
    "runs reply … TEXT": "runs reply r-01 hello",
    "runs show …": "runs show r-01",
    "runs … ……": "runs show r-01",
    "serve --http --… …": "serve --http --port 8099",
    "state upgrade": "state upgrade --db nowhere",
    "tokens --session …": "tokens --session none",
    "trust … --fingerprint …": f"trust notes --fingerprint {'0' * 64}",
    "try": f"try -- {_WORDS['COMMAND']}",
    "try --": f"try -- {_WORDS['COMMAND']}",
    "unwrap": "unwrap notes",
    "vault": "vault doctor",
    "vault delete NAME": "vault delete mcp/notes/env/TOKEN",
    "vault put …": "vault put mcp/notes/env/TOKEN",
    "vault …": "vault list",
    "vault … …": "vault delete mcp/notes/env/TOKEN",
    "wrap": "wrap notes",
}
# They go on until somebody ends them, and have tests of their own.
_STAYING = {
    "approvals serve --listen 192.168.1.20",
    "approvals serve --listen ADDRESS",
    "approvals serve --listen … --pair",
    "approvals watch",
    "calls --follow",
    "daemon run",
    "events --follow",
    "serve --http",
    "serve --http --port NUMBER",
    "serve --http --… …",
    "watch … --path DIR",
    "worker",
    "worker --queue NAME",
}


_NO_ID = "nothing with the id `k3f9x2mq` waits"
_NO_DEVICE = "no device has the id `k3f9x2mq`"
_NO_AGENT = "there is no agent `nobody`"
_NO_REPLY = "no server and no suite is named `run_reply`"
_NO_RUN = "there is no run `r-01`"
_NO_WORKSPACE_SERVER = "this workspace brings nothing along that needs trust"
_NO_DAEMON = "switchboard daemon start"
_NO_SECRET = "there is no `mcp/notes/env/TOKEN`"
_OF_THE_HOME = "set `natural_language = true` for `notes` where it is declared"
# Here they are about something that is not there, and say so; tests of their own follow them from
# where they are printed.
_ABOUT_NOTHING = {
    "agents run … --task TEXT": _NO_AGENT,
    "agents show …": _NO_AGENT,
    "approvals approve …": _NO_ID,
    "approvals approve … --yes": _NO_ID,
    "approvals devices ID --remove": _NO_DEVICE,
    "approvals devices … --remove": _NO_DEVICE,
    "approvals rules … --remove": "there is no rule with the id `k3f9x2mq`",
    "approvals show …": _NO_ID,
    "approvals … …": _NO_ID,
    "audit show …": "no record of `1`",
    "audit verify --expect …": "",
    "daemon logs": _NO_DAEMON,
    "doctor --db": "set SWITCHBOARD_TOKEN",
    "events --json": _NO_DAEMON,
    "egress NAME --forget …": "nothing was decided about",
    "introspect SUITE --… …": "always looks at the folder",
    "login …": "cannot be reached",
    "logs …": _NO_DAEMON,
    "mcp auth … NAME": "switchboard mcp auth login docs",
    "mcp auth … … --account …": "has no account `work`",
    "restart … --force": _NO_DAEMON,
    "result …": "nothing is kept of a call",
    "runs reply …": _NO_REPLY,
    "runs reply … TEXT": _NO_REPLY,
    "runs show …": _NO_RUN,
    "runs … ……": _NO_RUN,
    "state move --to …": "this is no address of a PostgreSQL database",
    "state upgrade": "this is no address of a PostgreSQL database",
    "tokens --session …": "the audit log has no call of a session",
    "trust --dev NAME": _NO_WORKSPACE_SERVER,
    "trust --dev …": _NO_WORKSPACE_SERVER,
    "trust …": _NO_WORKSPACE_SERVER,
    "trust … --fingerprint …": _NO_WORKSPACE_SERVER,
    "unwrap": _OF_THE_HOME,
    "unwrap …": _OF_THE_HOME,
    "unwrap … --force": _OF_THE_HOME,
    "vault delete NAME": _NO_SECRET,
    "vault unlock": "there is nothing to unlock",
    "vault … …": _NO_SECRET,
    "wrap": _OF_THE_HOME,
    "wrap …": _OF_THE_HOME,
}


def _typed(remedy: str) -> list[str]:
    filled = _FILLED.get(remedy) or _PLACEHOLDER.sub(
        lambda found: _WORDS.get(found[0], "notes"), remedy
    )
    return shlex.split(filled)


def test_the_table_has_no_remedy_that_nobody_prints() -> None:
    assert {*_FILLED, *_STAYING, *_ABOUT_NOTHING} - remedies().keys() == set()


@pytest.mark.parametrize("remedy", sorted(remedies()))
def test_a_command_that_is_printed_can_be_typed(remedy: str) -> None:
    verb, *words = _typed(remedy)
    read_arguments(PROGRAM, usage_of(verb), words)


@pytest.mark.parametrize("remedy", sorted(remedies().keys() - _STAYING))
def test_a_command_that_is_printed_answers(remedy: str, workspace: Workspace) -> None:
    words = _typed(remedy)
    servers = {"notes": server(child_command("echo_child", "notes"))}
    if "docs" in words:
        servers["docs"] = {"url": "http://127.0.0.1:9/mcp"}
    workspace.mcp_json(servers, scope="home")
    (workspace.user_home / ".codex").mkdir()
    if words[:2] == ["vault", "put"]:
        # A value is typed without being shown; a script hands it over.
        done = switchboard(workspace, *words, stdin="a-value\n", apart=True)
        code, shown = done.code, done.err
    else:
        code, shown = answered(
            workspace.command(*words), cwd=workspace.root, env=workspace.env, answer=lambda: "y"
        )
    assert code == int(remedy in _ABOUT_NOTHING), shown
    assert remedy not in _ABOUT_NOTHING or _ABOUT_NOTHING[remedy] in shown


@pytest.mark.parametrize("remedy", ["daemon logs", "logs …", "restart … --force"])
def test_a_command_about_what_runs_answers(remedy: str) -> None:
    # Short, so that the socket lies in the home as it does for users.
    with TemporaryDirectory(prefix="sb-", ignore_cleanup_errors=True) as folder:
        workspace = Workspace(Path(folder), daemon=True)
        workspace.mcp_json({"notes": server(child_command("echo_child", "notes"))}, scope="home")
        try:
            assert switchboard(workspace, "call", "notes", "add", "a=1", "b=2").out == "3\n"
            done = switchboard(workspace, *_typed(remedy), apart=True)
            assert done.code == 0, done.err
        finally:
            workspace.stop_daemon()


@pytest.mark.parametrize("verb", VERBS)
def test_the_examples_of_a_verb_can_be_typed(verb: str) -> None:
    for example in usage_of(verb).examples:
        # What stands before it, or behind it, is of the shell.
        typed = re.split(r"[|><)]", _BEGINS.split(example)[-1])[0]
        named, rest = split_verb(PROGRAM, shlex.split(typed, comments=True))
        read_arguments(PROGRAM, usage_of(named), rest)


@attack("T66")
def test_a_name_in_a_command_is_one_word_for_a_shell(workspace: Workspace) -> None:
    """A clone names its servers, and somebody, or a model, types what we tell them to."""
    name = "x;touch${IFS}owned"
    entry = server(
        child_command("echo_child"),
        env={"API_TOKEN": "canary-in-plain-text"},
        secret_env={"KEY": f"vault:mcp/{name}/env/KEY"},
    )
    workspace.mcp_json({name: entry})
    untrusting = {"SWITCHBOARD_TRUST_WORKSPACE": "-"}
    told = ""
    for words in (("trust",), ("config", "check"), ("doctor",), ("introspect", name)):
        waiting = switchboard(workspace, *words, env=untrusting)
        trusted = switchboard(workspace, *words)
        told += waiting.out + waiting.err + trusted.out + trusted.err
    typed = re.compile(r"switchboard ([a-z][a-z -]*?)(?:mcp/)?" + re.escape(name))
    assert typed.findall(told) == []
    for command in ("trust", "trust --dev", "vault put"):
        quoted = shlex.quote(name if command != "vault put" else f"mcp/{name}/env/KEY")
        assert f"switchboard {command} {quoted}" in told, command
