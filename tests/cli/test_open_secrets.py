"""Secrets in arguments, headers and addresses: told, never shown, and how to get them out."""

import json
import os
import re
from typing import Any

import pytest

from cli.commands import Finished, on_terminal, switchboard
from support.workspace import Workspace, child_command, server

SECRETS = {
    "word": "wordofthesecret12",
    "joined": "joinedsecret3456",
    "shape": "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB",
    "header": "headersecretvalue",
    "parameter": "parametersecret78",
    "login": "loginsecret90",
    "variable": "variablesecret12",
}
_WORDS = [
    *("--api-token", SECRETS["word"]),
    f"--password={SECRETS['joined']}",
    SECRETS["shape"],
]
# Commands that show servers to whoever types them.
_SHOWING = (
    ("list",),
    ("config", "show"),
    ("config", "explain", "mcp_servers.stdio.args"),
    ("config", "explain", "mcp_servers.remote.url"),
    ("config", "explain", "mcp_servers.remote.headers"),
    ("doctor",),
    ("status",),
    ("tokens",),
    ("sweep", "--dry-run"),
    ("setup", "--dry-run"),
    ("import", "--dry-run"),
)


def _servers() -> dict[str, Any]:
    return {
        "stdio": server([*child_command("echo_child", "stdio"), *_WORDS]),
        "remote": {
            "url": f"http://me:{SECRETS['login']}@127.0.0.1:9/mcp?api_key={SECRETS['parameter']}",
            "headers": {"X-Own": SECRETS["header"]},
        },
        "env": server(child_command("echo_child", "env"), env={"MY_TOKEN": SECRETS["variable"]}),
    }


def _shown(text: str) -> list[str]:
    return [name for name, value in SECRETS.items() if value in text]


@pytest.mark.parametrize("words", _SHOWING, ids=" ".join)
def test_no_command_shows_what_looks_like_a_secret(
    words: tuple[str, ...], workspace: Workspace
) -> None:
    workspace.mcp_json(_servers(), scope="home")
    cursor = workspace.user_home / ".cursor" / "mcp.json"
    cursor.parent.mkdir()
    cursor.write_text(json.dumps({"mcpServers": _servers()}), "utf-8")
    for more in ((), ("--json",)):
        done = switchboard(workspace, *words, *more)
        assert done.out + done.err
        assert _shown(done.out + done.err) == [], done.out
    assert _shown(on_terminal(workspace, *words)) == []


def test_a_secret_that_stays_is_told_with_what_to_write(workspace: Workspace) -> None:
    workspace.env["PATH"] = os.pathsep.join(["/usr/bin", "/bin"])
    cursor = workspace.user_home / ".cursor" / "mcp.json"
    cursor.parent.mkdir()
    cursor.write_text(json.dumps({"mcpServers": _servers()}), "utf-8")
    report = switchboard(workspace, "setup", "--yes", "--json").report
    told = {each["name"]: each for each in report["servers"]}
    assert [line for line in told["stdio"]["remarks"] if "secret" in line] == [
        _remark("the value of `--api-token`", "STDIO_API_TOKEN"),
        _remark("the value of `--password`", "STDIO_PASSWORD"),
        _remark("argument 6", "STDIO_SECRET"),
    ]
    assert [line for line in told["remote"]["remarks"] if "no reference" in line] == [
        _remark("what stands before `@` in its address", "REMOTE_LOGIN"),
        _remark("the value of `api_key` in its address", "REMOTE_API_KEY"),
    ]
    assert told["env"]["secrets"] == ["mcp/env/env/MY_TOKEN"]
    assert _findings(switchboard(workspace, "doctor", "--json")) == {
        "stdio": ["--api-token", "--password", "argument 6"],
        "remote": ["@", "api_key"],
    }


def _remark(where: str, variable: str) -> str:
    return (
        f"{where} looks like a secret, and no reference to the vault can stand there:"
        f" write `${{{variable}}}` for it in config.toml, and set that variable"
    )


def _findings(done: Finished) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for each in done.report["findings"]:
        if "no reference to the vault" in each["message"]:
            where = each["message"].partition(" looks")[0]
            marked = re.search(r"`(.*?)`", where)
            found.setdefault(each["subject"], []).append(marked[1] if marked else where)
    return found


def test_what_is_told_to_be_written_works(workspace: Workspace) -> None:
    """The variable in its place: nothing is left to tell, and the server gets the value."""
    workspace.env["PATH"] = os.pathsep.join(["/usr/bin", "/bin"])
    cursor = workspace.user_home / ".cursor" / "mcp.json"
    cursor.parent.mkdir()
    words = ["--api-token", SECRETS["word"]]
    entry = server([*child_command("echo_child", "told"), *words])
    cursor.write_text(json.dumps({"mcpServers": {"told": entry}}), "utf-8")
    report = switchboard(workspace, "setup", "--yes", "--json").report
    (remark,) = (each for each in report["servers"][0]["remarks"] if "no reference" in each)
    placeholder = re.findall(r"`(\$\{.*?\})`", remark)[0]
    config = workspace.home / "config.toml"
    text = config.read_text("utf-8")
    assert text.count(SECRETS["word"]) == 1
    config.write_text(text.replace(SECRETS["word"], placeholder), "utf-8")

    workspace.env[placeholder[2:-1]] = SECRETS["word"]
    assert _findings(switchboard(workspace, "doctor", "--json")) == {}
    called = json.loads(switchboard(workspace, "call", "told", "report").out)
    assert called["argv"][-2:] == words
