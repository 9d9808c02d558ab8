"""`init`: a workspace is prepared, and nothing that exists is changed."""

import json
import os

import pytest

from cli.commands import UNTRUSTING, switchboard
from support.requirements import attack
from support.workspace import Workspace

CLAUDE = {
    "mcpServers": {
        "github": {
            "command": "npx",
            "args": ["-y", "github-mcp"],
            "env": {"GITHUB_TOKEN": "${GITHUB_TOKEN}", "LEVEL": "1"},
        },
        "switchboard": {"command": "switchboard", "args": ["mcp"]},
        "rooted": {"command": "x", "args": ["${workspaceFolder}"]},
        "elsewhere": {"command": "x", "cwd": "/somewhere"},
    }
}
VSCODE = {"servers": {"docs": {"type": "http", "url": "https://docs.example/mcp"}}}


@pytest.fixture
def fresh(workspace: Workspace) -> Workspace:
    """Give a workspace without a folder of ours."""
    workspace.settings.rmdir()
    return workspace


def files(workspace: Workspace) -> dict[str, str]:
    paths = [path for path in workspace.root.rglob("*") if path.is_file()]
    return {str(path.relative_to(workspace.root)): path.read_text("utf-8") for path in paths}


def test_a_fresh_workspace_gets_a_configuration(fresh: Workspace) -> None:
    done = switchboard(fresh, "init")
    assert done.code == 0
    assert done.out.startswith("wrote .switchboard/config.toml\n")
    text = (fresh.settings / "config.toml").read_text("utf-8")
    assert "Ask before a call that could do harm" in text
    assert "a model reads up to twice as much" in text
    assert switchboard(fresh, "config", "check").code == 0


def test_the_hosts_of_this_machine_are_named_until_they_know_us(fresh: Workspace) -> None:
    fresh.env["PATH"] = os.pathsep.join(["/usr/bin", "/bin"])
    assert "switchboard install HOST" in switchboard(fresh, "init").err
    (fresh.user_home / ".codex").mkdir()
    done = switchboard(fresh, "init")
    assert "to put the servers of Codex behind Switchboard: switchboard setup" in done.err
    assert switchboard(fresh, "install", "codex", "--yes", apart=True).code == 0
    assert "Codex" not in switchboard(fresh, "init").err


def test_a_second_time_changes_nothing(fresh: Workspace) -> None:
    switchboard(fresh, "init")
    (fresh.settings / "config.toml").write_text("# mine\n", "utf-8")
    before = files(fresh)
    done = switchboard(fresh, "init")
    assert done.out.startswith("kept .switchboard/config.toml\n")
    assert files(fresh) == before


def test_servers_of_other_clients_are_copied_when_asked(fresh: Workspace) -> None:
    fresh.write(".mcp.json", json.dumps(CLAUDE))
    fresh.write(".vscode/mcp.json", json.dumps(VSCODE))
    foreign = files(fresh)
    report = switchboard(fresh, "init", "--import", "--json", env=UNTRUSTING).report
    left = {each["name"]: each["reason"] for each in report["imported"] if each["reason"]}
    assert set(left) == {"switchboard", "elsewhere"}
    written = json.loads((fresh.settings / "mcp.json").read_text("utf-8"))["mcpServers"]
    assert written == {
        "github": {
            "command": "npx",
            "args": ["-y", "github-mcp"],
            "env": {"LEVEL": "1"},
            "secret_env": {"GITHUB_TOKEN": "env:GITHUB_TOKEN"},
        },
        "rooted": {"command": "x", "args": ["."], "start_in": "workspace"},
        "docs": {"transport": "http", "url": "https://docs.example/mcp"},
    }
    assert {name: text for name, text in files(fresh).items() if name in foreign} == foreign
    # A repository brought them along, so they wait.
    servers = switchboard(fresh, "list", "--json", env=UNTRUSTING).report["servers"]
    assert {each["trust"] for each in servers} == {"waiting"}
    again = switchboard(fresh, "init", "--import", "--json", env=UNTRUSTING).report
    assert all(each["reason"] for each in again["imported"])


def test_who_still_starts_what_was_copied_is_told(fresh: Workspace) -> None:
    fresh.write(".mcp.json", json.dumps(CLAUDE))
    fresh.write(".vscode/mcp.json", json.dumps(VSCODE))
    done = switchboard(fresh, "init", "--import", env=UNTRUSTING)
    where = ".mcp.json, .vscode/mcp.json"
    assert f"the clients of {where} still start these servers themselves: " in done.err
    assert f"hint: remove them from {where}\n" in done.err
    assert "still start" not in switchboard(fresh, "init", env=UNTRUSTING).err


def test_a_dry_run_writes_nothing(fresh: Workspace) -> None:
    fresh.write(".mcp.json", json.dumps(CLAUDE))
    before = files(fresh)
    done = switchboard(fresh, "init", "--import", "--dry-run")
    assert done.code == 0
    assert "would write .switchboard/config.toml\nwould copy github from .mcp.json\n" in done.out
    assert files(fresh) == before
    assert not fresh.settings.exists()


def test_servers_that_could_be_copied_are_mentioned(fresh: Workspace) -> None:
    fresh.write(".mcp.json", json.dumps(CLAUDE))
    done = switchboard(fresh, "init")
    assert "switchboard init --import" in done.err
    assert not (fresh.settings / "mcp.json").exists()


def test_a_broken_configuration_is_told_before_anything_is_written(fresh: Workspace) -> None:
    fresh.write("switchboard.config.json", '{"timeouts": {"rpcMs": -1}}')
    assert switchboard(fresh, "init").code == 2
    assert not fresh.settings.exists()


@pytest.mark.parametrize("words", [("init", "here"), ("init", "--force")])
def test_init_takes_nothing_else(fresh: Workspace, words: tuple[str, ...]) -> None:
    assert switchboard(fresh, *words).code == 2
    assert not fresh.settings.exists()


def test_a_folder_of_ones_own_is_trusted_by_preparing_it(fresh: Workspace) -> None:
    done = switchboard(fresh, "init", "--json", env=UNTRUSTING)
    assert done.report["folder_trusted"] is True
    report = switchboard(fresh, "trust", "--json", env=UNTRUSTING).report
    assert report["folder_trusted"] is True
    taken = switchboard(fresh, "trust", "--revoke", "--folder", env=UNTRUSTING)
    assert "the folder is now not trusted" in taken.err


@pytest.mark.parametrize("found", ["cloned", "prepared", "shared", "worktree"])
def test_a_folder_that_came_from_elsewhere_is_not_trusted_by_preparing_it(
    fresh: Workspace, found: str
) -> None:
    """A clone is unpacked and prepared: nobody has said yet that its folder is to be trusted."""
    match found:
        case "cloned":
            fresh.write(".git/config", '[core]\n[remote "origin"]\nurl = https://x.example/y\n')
        case "prepared":
            fresh.write(".switchboard/config.toml", "")
        case "shared":
            fresh.root.chmod(0o777)
        case _:
            fresh.write(".git", "gitdir: ../elsewhere/.git/worktrees/x\n")
    done = switchboard(fresh, "init", env=UNTRUSTING)
    assert done.code == 0
    assert "switchboard trust --folder" in done.err
    report = switchboard(fresh, "trust", "--json", env=UNTRUSTING).report
    assert report["folder_trusted"] is False


@pytest.mark.parametrize("words", [("init",), ("add", "x", "--", "true")])
@attack("B26")
def test_nothing_is_written_through_a_folder_that_is_a_link(
    fresh: Workspace, words: tuple[str, ...]
) -> None:
    """A repository brings `.switchboard` as a link to the folder of another client."""
    other = fresh.user_home / ".cursor"
    other.mkdir()
    (other / "mcp.json").write_text('{"mcpServers": {}}', "utf-8")
    fresh.settings.symlink_to(other)
    done = switchboard(fresh, *words, env=UNTRUSTING)
    assert done.code != 0
    assert [path.name for path in other.iterdir()] == ["mcp.json"]
    assert (other / "mcp.json").read_text("utf-8") == '{"mcpServers": {}}'


# What another host runs in a project, and what of the project it cannot do without.
NEEDS = {
    "script": (["python3", "server.py"], "`server.py`"),
    "program": (["./server.py"], "`./server.py`"),
    "module": (["python3", "-m", "server", "--stdio"], "`server.py`"),
    "package": (["python3", "-um", "pkg.main"], "`pkg`"),
    "npm": (["npm", "run", "serve"], "`npm` runs what files of this workspace say"),
    "make": (["make", "-s", "serve"], "`make` runs what files of this workspace say"),
    "local": (["npx", "-y", "tool"], "`node_modules/.bin/tool`"),
    "text": (["sh", "-c", "exec ./server.py --stdio"], "`./server.py`"),
    "here": (["npx", "-y", "@scope/files", "."], "`.` means the folder that it starts in"),
    "option": (["some-server", "--root=../docs"], "`--root=../docs` means the folder"),
    "fetched": (["npx", "-y", "@scope/elsewhere"], ""),
    "uvx": (["uvx", "mcp-server-time"], ""),
    "installed": (["python3", "-m", "mcp_server_time"], ""),
    "absolute": (["python3", "/opt/server.py"], ""),
    "plain": (["mcp-server"], ""),
}


def test_what_needs_the_workspace_says_so_after_an_import(fresh: Workspace) -> None:
    """Other hosts start everything in the project; here an entry says if it has to be there."""
    for name in ("server.py", "pkg/main.py", "node_modules/.bin/tool"):
        fresh.write(name, "")
    servers = {name: {"command": words[0], "args": words[1:]} for name, (words, _) in NEEDS.items()}
    fresh.write(".mcp.json", json.dumps({"mcpServers": servers}))
    done = switchboard(fresh, "init", "--import", env=UNTRUSTING)
    written = json.loads((fresh.root / ".switchboard" / "mcp.json").read_text("utf-8"))
    start_in = {name: each.get("start_in") for name, each in written["mcpServers"].items()}
    assert start_in == {name: "workspace" if why else None for name, (_, why) in NEEDS.items()}
    lines = done.out.splitlines()
    for name, (_, why) in NEEDS.items():
        after = lines[lines.index(f"copied {name} from .mcp.json") + 1]
        assert after.startswith('  with `start_in = "workspace"`: ') == bool(why)
        assert why in after
