"""Servers are found in the files of other hosts, which are read and never trusted blindly."""

import os
from pathlib import Path
from typing import Any

import pytest

from agents.servers.host_bench import HostBench, echo
from support.requirements import requirement
from support.workspace import Json
from switchboard.providers.agents.servers.host_file import MAX_HOST_BYTES
from switchboard.providers.agents.servers.host_trust import host_items
from switchboard.settings.consent.trust_record import read_trust
from switchboard.settings.load import load_settings

ALL: dict[str, Any] = {"limit_mcp_to_referenced": False}


def runs(command: str, *args: str, **more: Any) -> Json:
    return {"command": command, "args": list(args), **more}


@requirement("S0.100", "S0.129", "S0.130")
async def test_every_host_is_looked_at_and_discovery_can_be_switched_off(
    bench: HostBench,
) -> None:
    bench.claude_project(one=runs("one"))
    bench.claude_user(
        mcpServers={"two": runs("two")},
        projects={str(bench.workspace.root): {"mcpServers": {"three": runs("three")}}},
    )
    bench.vscode_project({"servers": {"four": runs("four")}})
    profile = bench.write(bench.home / "profile.json", {"mcpServers": {"five": runs("five")}})
    bench.cursor_user(six=runs("six"))
    options = {**ALL, "vscode_user_mcp": str(profile)}
    assert sorted(await bench.names(**options)) == ["five", "four", "one", "six", "three", "two"]
    assert sorted(await bench.names(**ALL)) == ["four", "one", "six", "three", "two"]
    assert await bench.names(**options, mcp_discovery=False) == []


async def test_a_host_that_counts_more_wins_where_several_have_a_name(bench: HostBench) -> None:
    """From low to high: Cursor, Claude Code for the user and the project, VS Code."""

    async def command() -> str:
        (server,) = (await bench.attached(**ALL, vscode_user_mcp="~/profile.json")).servers
        return server.command

    bench.cursor_user(twin=runs("cursor"))
    assert await command() == "cursor"
    bench.claude_user(mcpServers={"twin": runs("claude-user")})
    assert await command() == "claude-user"
    bench.claude_user(
        mcpServers={"twin": runs("claude-user")},
        projects={str(bench.workspace.root): {"mcpServers": {"twin": runs("claude-local")}}},
    )
    assert await command() == "claude-local"
    bench.claude_project(twin=runs("claude-project"))
    assert await command() == "claude-project"
    bench.vscode_project({"servers": {"twin": runs("vscode")}})
    assert await command() == "vscode"
    bench.write(bench.home / "profile.json", {"servers": {"twin": runs("vscode-user")}})
    assert await command() == "vscode-user"


async def test_claude_users_say_which_servers_of_a_project_they_want(bench: HostBench) -> None:
    bench.claude_project(a=runs("a"), b=runs("b"), c=runs("c"))
    project: Json = {"enabledMcpjsonServers": ["a", "b"], "disabledMcpjsonServers": ["b"]}
    bench.claude_user(projects={str(bench.workspace.root): project})
    assert await bench.names(**ALL) == ["a"]
    bench.claude_user(projects={})
    bench.write(bench.home / ".claude" / "settings.json", {"disabledMcpjsonServers": ["c"]})
    assert await bench.names(**ALL) == ["a", "b"]


@requirement("S0.105", "S0.112")
async def test_only_commands_are_found_and_never_addresses(bench: HostBench) -> None:
    bench.claude_project(
        here=runs("here"),
        there={"type": "http", "url": "http://127.0.0.1:9/mcp"},
        stream={"type": "sse", "url": "http://127.0.0.1:9/sse", "command": "x"},
        off=runs("off", disabled=True),
    )
    found = await bench.attached(**ALL)
    assert [server.name for server in found.servers] == ["here"]
    assert found.notices == ()


async def test_comments_and_last_commas_of_vs_code_are_understood(bench: HostBench) -> None:
    bench.vscode_project(
        '{ // servers\n "servers": { /* one */ "a":'
        ' {"command": "//no-comment", "args": ["/*",],}, },\n}'
    )
    (server,) = (await bench.attached(**ALL)).servers
    assert (server.command, server.args) == ("//no-comment", ("/*",))


async def test_variables_are_filled_as_their_host_fills_them(bench: HostBench) -> None:
    bench.environ |= {"TOKEN": "t0ken"}
    bench.claude_project(
        a=runs("a", "${TOKEN}", "${env:TOKEN}x", env={"K": "${TOKEN}", "D": "${NO:-default}"})
    )
    bench.vscode_project(
        {"servers": {"b": runs("${workspaceFolder}/b", "${env:TOKEN}", env={"N": 1, "Y": True})}}
    )
    bench.cursor_user(c=runs("c", "${userHome}"), asks=runs("asks", "${input:key}"))
    found = await bench.attached(**ALL)
    by_name = {server.name: server for server in found.servers}
    assert "a" not in by_name
    assert by_name["b"].command == f"{bench.workspace.root}/b"
    assert by_name["b"].args == ("t0ken",)
    assert by_name["b"].env == {"N": "1", "Y": "true"}
    assert by_name["c"].args == (str(bench.home),)
    assert any("`asks` of ~/.cursor/mcp.json" in notice for notice in found.notices)
    bench.claude_project(a=runs("a", "${TOKEN}", env={"D": "${NO:-default}"}))
    found = await bench.attached(**ALL)
    (first,) = [server for server in found.servers if server.name == "a"]
    assert (first.args, first.env) == (("t0ken",), {"D": "default"})
    assert "t0ken" not in " ".join(found.notices)


BROKEN: dict[str, Any] = {
    "cut": '{"mcpServers": {',
    "empty": "",
    "a list": "[]",
    "not UTF-8": b"\xff\xfe{}",
    "deep": "[" * 100_000,
    "a number for servers": '{"mcpServers": 3}',
    "numbers as servers": '{"mcpServers": {"a": 1, "b": []}}',
    "no command": '{"mcpServers": {"a": {"args": ["x"]}}}',
    "odd arguments": '{"mcpServers": {"a": {"command": "x", "args": [1]}}}',
    "odd environment": '{"mcpServers": {"a": {"command": "x", "env": {"A": []}}}}',
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
async def test_a_broken_file_hides_nothing_else(bench: HostBench, text: str | bytes) -> None:
    path = bench.home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    bench.claude_project(fine=runs("fine"))
    found = await bench.attached(**ALL)
    assert [server.name for server in found.servers] == ["fine"]
    assert len(found.notices) <= 1


@pytest.mark.parametrize("kind", ["folder", "pipe", "huge", "forbidden", "gone"])
async def test_what_is_no_file_of_ours_is_at_most_one_notice(bench: HostBench, kind: str) -> None:
    path = bench.home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "huge":
        with path.open("wb") as file:
            file.truncate(MAX_HOST_BYTES + 1)
    elif kind == "forbidden":
        path.symlink_to(path)
    found = await bench.attached(**ALL)
    assert found.servers == ()
    assert len(found.notices) == (0 if kind == "gone" else 1)
    assert str(bench.home) not in " ".join(found.notices)


async def test_files_of_an_untrusted_workspace_do_not_count(bench: HostBench) -> None:
    del bench.environ["SWITCHBOARD_TRUST_WORKSPACE"]
    bench.cursor_user(own=runs("own"))
    path = bench.claude_project(theirs=runs("theirs"))
    found = await bench.attached(**ALL)
    assert [server.name for server in found.servers] == ["own"]
    (notice,) = found.notices
    assert notice.endswith("switchboard trust .mcp.json")
    _trust(bench)
    assert sorted(await bench.names(**ALL)) == ["own", "theirs"]
    # Any change asks again.
    path.write_text(path.read_text("utf-8") + "\n", "utf-8")
    assert await bench.names(**ALL) == ["own"]


async def test_a_repository_sets_no_variable_that_loads_code(bench: HostBench) -> None:
    env = {"PYTHONPATH": "tools"}
    bench.claude_project(theirs=runs("theirs", env=env), git=runs("git", env={"GIT_SSH": "x"}))
    bench.cursor_user(own=runs("own", env=env))
    found = await bench.attached(**ALL)
    assert [(server.name, server.env) for server in found.servers] == [("own", env)]
    assert found.notices == tuple(
        f"`{name}` of .mcp.json is left out: `{key}` can make the server run foreign code and is"
        " not allowed here"
        for name, key in (("theirs", "PYTHONPATH"), ("git", "GIT_SSH"))
    )


async def test_a_script_behind_a_trusted_file_asks_again_however_it_is_named(
    bench: HostBench,
) -> None:
    del bench.environ["SWITCHBOARD_TRUST_WORKSPACE"]
    root = str(bench.workspace.root)
    script = bench.workspace.write("tools/server.py", "print(1)\n")
    named = ("tools/server.py", "${PWD}/tools/server.py", "${ROOT:-.}/tools/server.py")
    bench.claude_project(**{f"s{at}": runs("python3", word) for at, word in enumerate(named)})
    bench.environ |= {"PWD": root, "ROOT": root}
    _trust(bench, f"python3 {named[0]}")
    assert await bench.names(**ALL) == ["s0", "s1", "s2"]
    script.write_text("print(2)\n", "utf-8")
    assert await bench.names(**ALL) == []
    # A variable must not lead to a file that nobody could be asked about.
    bench.claude_project(hidden=runs("python3", "${ROOT}/tools/server.py"))
    _trust(bench, "python3")
    found = await bench.attached(**ALL)
    assert found.servers == ()
    assert "a variable leads it to `tools/server.py`" in found.notices[0]


def _trust(bench: HostBench, begins: str = "theirs") -> None:
    root = str(bench.workspace.root)
    settings = load_settings(workspace=root, environ=bench.environ)
    (item,) = host_items(settings)
    assert (item.name, item.trust) == (".mcp.json", "waiting")
    assert item.runs.startswith(begins)
    record = read_trust(settings.home, [])
    record.add(settings.workspace, item.fingerprint, item.name)
    record.save()
    (item,) = host_items(settings)
    assert item.trust == "trusted"


SELVES = [
    ("switchboard", runs("anything")),
    ("board", runs("switchboard", "mcp")),
    ("board", runs("/opt/bin/switchboard-mcp")),
    ("board", runs("C:\\tools\\Switchboard.EXE", "mcp")),
    ("board", runs("python3.12", "-m", "switchboard", "mcp")),
    ("board", runs("python", "-P", "-X", "utf8", "-m", "switchboard")),
    ("board", runs("uvx", "switchboard[http]@1.0", "mcp")),
    ("board", runs("uv", "tool", "run", "switchboard", "mcp")),
    ("board", runs("env", "A=1", "python3", "-mswitchboard", "mcp")),
]
OTHERS = [
    ("board", runs("python", "switchboard.py")),
    ("board", runs("python", "-m", "other", "switchboard")),
    ("board", runs("npx", "-y", "some-server", "switchboard")),
    ("board", runs("my-switchboard")),
]


@pytest.mark.parametrize(("name", "entry"), SELVES)
async def test_switchboard_itself_is_skipped_unless_it_is_wanted(
    bench: HostBench, name: str, entry: Json
) -> None:
    bench.cursor_user(**{name: entry})
    assert await bench.names(**ALL) == []
    assert await bench.names(**ALL, skip_self=False) == [name]


@pytest.mark.parametrize(("name", "entry"), OTHERS)
async def test_what_only_sounds_like_switchboard_is_not_skipped(
    bench: HostBench, name: str, entry: Json
) -> None:
    bench.cursor_user(**{name: entry})
    assert await bench.names(**ALL) == [name]


async def test_the_folder_of_claude_can_be_another_one(bench: HostBench, tmp_path: Path) -> None:
    bench.environ["CLAUDE_CONFIG_DIR"] = str(tmp_path / "claude")
    bench.claude_user(mcpServers={"wrong": runs("wrong")})
    bench.write(tmp_path / "claude" / ".claude.json", {"mcpServers": {"right": echo()}})
    assert await bench.names(**ALL) == ["right"]
