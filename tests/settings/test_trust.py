"""Nothing of a workspace runs before its user has agreed to exactly that."""

import json
import os
import stat
from typing import Any

import pytest
from msgspec import Raw
from msgspec.structs import replace

from settings.ground import Ground
from support.sources import command_tools
from switchboard.children.schema import OAuth, ServerEntry
from switchboard.config.problems import ConfigInvalid
from switchboard.core.bus import EventBus
from switchboard.core.calls.call import Call
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.sessions import Session
from switchboard.daemon.board.runtime import running
from switchboard.settings.fingerprints import sealed
from switchboard.settings.load import load_settings
from switchboard.settings.trust import still_trusted, trust, untrust


def _names(ground: Ground) -> tuple[list[str], list[str]]:
    settings = ground.load(trusted=False)
    return [entry.name for entry in settings.servers], [entry.name for entry in settings.untrusted]


def test_servers_of_a_workspace_wait_for_trust_and_those_of_the_home_do_not(ground: Ground) -> None:
    ground.put(ground.home / "mcp.json", {"mcpServers": {"mine": {"command": "a"}}})
    ground.put(ground.own / "mcp.json", {"mcpServers": {"theirs": {"command": "b"}}})
    ground.put(
        ground.own / "config.toml", '[mcp_servers.toml]\ncommand = "c"\n[mcp.tool]\ncommand = "d"\n'
    )
    ground.child("child")
    settings = ground.load(trusted=False)
    assert [entry.name for entry in settings.servers] == ["mine"]
    assert {entry.name for entry in settings.untrusted} == {"theirs", "toml", "child"}
    assert list(command_tools(settings).untrusted) == ["tool"]
    assert command_tools(settings).usable == {}


def test_a_server_that_its_user_writes_stays_trusted_while_its_entry_does(ground: Ground) -> None:
    script = ground.put(ground.workspace / "server.py", "one")
    entry = {"command": "python3", "args": ["server.py"]}
    ground.put(ground.own / "mcp.json", {"mcpServers": {"mine": entry, "other": entry}})
    trust(ground.load(trusted=False), ["mine"], is_dev=True)
    (mine,) = ground.load(trusted=False).servers
    script.write_text("two", "utf-8")
    assert _names(ground) == (["mine"], ["other"])
    assert still_trusted(mine, str(ground.workspace))
    # Not another of the same words, nor the same with other words.
    ground.put(ground.own / "mcp.json", {"mcpServers": {"mine": {**entry, "env": {"A": "1"}}}})
    assert _names(ground) == ([], ["mine"])
    ground.put(ground.own / "mcp.json", {"mcpServers": {"mine": entry}})
    assert _names(ground) == (["mine"], [])
    assert untrust(ground.load(trusted=False), ["mine"])
    assert _names(ground) == ([], ["mine"])


def test_what_is_trusted_can_be_used_and_trust_can_be_taken_back(ground: Ground) -> None:
    ground.child("a")
    ground.child("b")
    ground.put(ground.own / "config.toml", '[mcp.tool]\ncommand = "d"\n')
    done = trust(ground.load(trusted=False), ["a"])
    assert [(each.name, each.kind) for each in done] == [("a", "server")]
    assert _names(ground) == (["a"], ["b"])
    assert [each.name for each in trust(ground.load(trusted=False))] == ["b", "tool"]
    assert _names(ground) == (["a", "b"], [])
    assert list(command_tools(ground.load(trusted=False)).usable) == ["tool"]
    assert [each.name for each in untrust(ground.load(trusted=False), ["a"])] == ["a"]
    assert _names(ground) == (["b"], ["a"])
    untrust(ground.load(trusted=False))
    assert _names(ground) == ([], ["a", "b"])


@pytest.mark.parametrize(
    "change",
    [
        {"command": "evil"},
        {"args": ["x"]},
        {"env": {"A": "b"}},
        {"secret_env": {"A": "env:A"}},
        {"inherit_env": True},
    ],
)
def test_a_change_of_what_runs_asks_again(ground: Ground, change: dict[str, object]) -> None:
    ground.put(ground.own / "mcp.json", {"mcpServers": {"x": {"command": "a-mcp"}}})
    trust(ground.load(trusted=False))
    assert _names(ground) == (["x"], [])
    ground.put(ground.own / "mcp.json", {"mcpServers": {"x": {"command": "a-mcp", **change}}})
    assert _names(ground) == ([], ["x"])
    ground.put(ground.own / "mcp.json", '{"mcpServers":\n\n{"x": {"command": "a-mcp"}}}')
    assert _names(ground) == (["x"], [])


def test_a_suite_that_opens_the_environment_asks_again(ground: Ground) -> None:
    ground.child("x")
    trust(ground.load(trusted=False))
    ground.put(
        ground.workspace / "switchboard.config.json", {"suites": {"x": {"inheritEnv": True}}}
    )
    assert _names(ground) == ([], ["x"])


def test_a_workspace_that_covers_a_server_of_the_home_has_to_be_trusted(ground: Ground) -> None:
    ground.put(
        ground.home / "config.toml",
        '[mcp_servers.gh]\ncommand = "gh"\nsecret_env = { T = "env:T" }\n',
    )
    assert _names(ground) == (["gh"], [])
    ground.put(ground.own / "config.toml", '[mcp_servers.gh]\ncommand = "thief"\n')
    # Until then the user's own stays as it is.
    assert _names(ground) == (["gh"], ["gh"])
    (own,) = ground.load(trusted=False).servers
    assert (own.command, own.secret_env) == ("gh", {"T": "env:T"})
    trust(ground.load(trusted=False))
    (theirs,) = ground.load(trusted=False).servers
    assert (theirs.command, theirs.secret_env) == ("thief", {})


def test_a_rotated_secret_does_not_ask_again_and_waits_unread(ground: Ground) -> None:
    ground.put(ground.own / "config.toml", '[mcp_servers.x]\ncommand = "a"\nargs = ["${KEY}"]\n')
    settings = ground.load(trusted=False)
    assert settings.untrusted[0].args == ("${KEY}",)
    trust(settings)
    for key in ("1", "2"):
        (entry,) = ground.load(trusted=False, KEY=key).servers
        assert entry.args == (key,)


def test_trust_does_not_follow_a_copy_of_the_workspace(ground: Ground) -> None:
    ground.child("x")
    trust(ground.load(trusted=False))
    copy = ground.workspace.with_name("copy")
    ground.put(
        copy / ".switchboard" / "mcps" / "x" / ".mcp.json", {"name": "x", "command": {"cmd": "x"}}
    )
    settings = load_settings(workspace=str(copy), environ=ground.environ())
    assert settings.servers == ()


def test_a_link_to_the_workspace_is_the_same_workspace(ground: Ground) -> None:
    ground.child("x")
    trust(ground.load(trusted=False))
    link = ground.workspace.with_name("link")
    link.symlink_to(ground.workspace)
    settings = load_settings(workspace=str(link), environ=ground.environ())
    assert [entry.name for entry in settings.servers] == ["x"]


def test_the_environment_can_trust_a_workspace_but_its_files_cannot(ground: Ground) -> None:
    ground.child("x")
    ground.put(ground.own / "config.toml", "trust_workspace = true\n")
    assert _names(ground) == ([], ["x"])
    assert len(ground.load(trusted=True).servers) == 1
    assert len(ground.load(trusted=False, flags={"trust_workspace": True}).servers) == 1


def test_the_record_is_private_and_holds_no_value(ground: Ground) -> None:
    ground.put(
        ground.own / "mcp.json",
        {"mcpServers": {"x": {"command": "a", "env": {"DATA": "very-private"}}}},
    )
    trust(ground.load(trusted=False))
    path = ground.home / "trust.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "very-private" not in path.read_text()
    assert list(json.loads(path.read_text())["workspaces"]) == [str(ground.workspace)]
    assert [each.name for each in ground.home.iterdir()] == ["trust.json"]


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"workspaces": 5}', '{"workspaces": {"a": [1]}}', b"\xff"]
)
def test_a_damaged_record_trusts_nothing_and_says_so(ground: Ground, content: str | bytes) -> None:
    ground.child("x")
    ground.put(ground.home / "trust.json", content)
    settings = ground.load(trusted=False)
    assert [entry.name for entry in settings.untrusted] == ["x"]
    assert "nothing of a workspace is trusted" in settings.warnings[0].message


def test_the_record_is_not_written_through_a_link(ground: Ground) -> None:
    ground.child("x")
    victim = ground.put(ground.user_home / "victim", "precious")
    ground.home.mkdir()
    (ground.home / "trust.json").symlink_to(victim)
    with pytest.raises(ConfigInvalid):
        trust(ground.load(trusted=False))
    assert victim.read_text() == "precious"


def test_every_field_that_decides_what_runs_is_in_the_fingerprint() -> None:
    entry = ServerEntry(name="x", transport="stdio")

    def print_of(workspace: str = "/w", **change: Any) -> str:
        return sealed(replace(entry, **change), workspace).fingerprint

    seen = {print_of(), print_of("/other")}
    changes: tuple[dict[str, Any], ...] = (
        {"name": "y"},
        {"transport": "http"},
        {"command": "c"},
        {"args": ("a",)},
        {"args": ("a", "b")},
        {"args": ("a b",)},
        {"env": {"A": "1"}},
        {"secret_env": {"A": "env:A"}},
        {"url": "https://a"},
        {"headers": {"A": "1"}},
        {"auth": OAuth(client_id="a")},
        {"cwd": "/x"},
        {"inherit_env": True},
        {"description": "words"},
        {"suite_description": "words"},
    )
    seen |= {print_of(**change) for change in changes}
    assert len(seen) == len(changes) + 2
    assert print_of(rpc_timeout_ms=5) == print_of()


@pytest.mark.parametrize(
    "suite", [{"description": "new"}, {"overrideDescription": True}, {"suiteName": "new"}]
)
def test_words_of_the_workspace_that_change_after_trust_ask_again(
    ground: Ground, suite: dict[str, object]
) -> None:
    ground.child("x")
    trust(ground.load(trusted=False))
    ground.put(ground.home / "switchboard.config.json", {"suites": {"x": suite}})
    assert _names(ground) == (["x"], [])
    ground.put(ground.workspace / "switchboard.config.json", {"suites": {"x": suite}})
    assert _names(ground) == ([], ["x"])


def test_a_changed_script_of_the_workspace_asks_again(ground: Ground) -> None:
    script = ground.put(ground.workspace / "tools" / "server.py", "print('good')\n")
    entry = {"command": "python3", "args": ["-u", "tools/server.py"]}
    ground.put(ground.own / "mcp.json", {"mcpServers": {"x": entry}})
    trust(ground.load(trusted=False))
    assert _names(ground) == (["x"], [])
    script.write_text("print('evil')\n", "utf-8")
    assert _names(ground) == ([], ["x"])
    script.write_text("print('good')\n", "utf-8")
    assert _names(ground) == (["x"], [])


def test_a_script_that_a_link_replaces_asks_again(ground: Ground) -> None:
    script = ground.put(ground.workspace / "server.py", "print('good')\n")
    other = ground.put(ground.workspace / "other.py", "print('evil')\n")
    ground.put(
        ground.own / "mcp.json",
        {"mcpServers": {"x": {"command": "python3", "args": ["server.py"]}}},
    )
    trust(ground.load(trusted=False))
    script.unlink()
    script.symlink_to(other)
    assert _names(ground) == ([], ["x"])


def _scripted(ground: Ground, *args: str) -> None:
    ground.put(
        ground.own / "config.toml",
        f"[mcp_servers.x]\ncommand = 'python3'\nargs = {json.dumps(args)}\n",
    )


def test_files_that_a_command_line_names_are_watched_also_before_trust(ground: Ground) -> None:
    script = ground.put(ground.workspace / "server.py", "1\n")
    (ground.workspace / "link.py").symlink_to(script)
    (ground.workspace / "folder").mkdir()
    _scripted(ground, "-u", "link.py", "later.py", "folder", "/etc/passwd")
    for settings in (ground.load(trusted=False), ground.load()):
        named = {path for path in settings.watched if path.startswith(f"{ground.workspace}/")}
        assert {str(ground.workspace / name) for name in ("link.py", "server.py", "later.py")} == {
            path for path in named if "/." not in path and path.endswith(".py")
        }
        assert not {"/etc/passwd", str(ground.workspace / "folder")} & set(settings.watched)


def test_a_script_that_changed_since_the_load_is_no_longer_trusted(ground: Ground) -> None:
    script = ground.put(ground.workspace / "server.py", "good\n")
    _scripted(ground, "server.py", "${KEY}")
    trust(ground.load(trusted=False))
    (entry,) = ground.load(trusted=False, KEY="secret").servers
    assert entry.args == ("server.py", "secret")
    assert still_trusted(entry, str(ground.workspace))
    script.write_text("evil\n", "utf-8")
    assert not still_trusted(entry, str(ground.workspace))
    script.write_text("good\n", "utf-8")
    assert still_trusted(entry, str(ground.workspace))


def test_a_script_that_was_missing_at_the_load_is_not_trusted_when_it_comes(ground: Ground) -> None:
    _scripted(ground, "server.py")
    trust(ground.load(trusted=False))
    (entry,) = ground.load(trusted=False).servers
    ground.put(ground.workspace / "server.py", "evil\n")
    assert not still_trusted(entry, str(ground.workspace))


def test_servers_of_the_home_and_of_a_workspace_trusted_as_a_whole_stay_trusted(
    ground: Ground,
) -> None:
    script = ground.put(ground.workspace / "server.py", "good\n")
    _scripted(ground, "server.py")
    ground.put(ground.home / "mcp.json", {"mcpServers": {"mine": {"command": "server.py"}}})
    entries = ground.load().servers
    script.write_text("better\n", "utf-8")
    assert [still_trusted(entry, str(ground.workspace)) for entry in entries] == [True, True]


async def test_a_script_that_changes_after_the_load_is_not_started(ground: Ground) -> None:
    script = ground.put(ground.workspace / "server.py", "print('harmless')")
    entry = {"command": "python3", "args": ["server.py"]}
    ground.put(ground.own / "mcp.json", {"mcpServers": {"x": entry}})
    trust(ground.load(trusted=False))
    settings = ground.load(trusted=False)
    ran = ground.workspace / "ran"
    script.write_text(f"open({str(ran)!r}, 'w')\n", "utf-8")
    environ = {"PATH": os.environ["PATH"]}
    async with running(settings, environ=environ, events=EventBus()) as runtime:
        with runtime.boards.lease() as board:
            call = Call(
                id="c",
                session=Session(id="s", via="test", workspace=settings.workspace),
                tool=board.catalog.tools["x_suite"],
                arguments=Raw(b'{"action":"introspect"}'),
            )
            with pytest.raises(Fault) as caught:
                await board.pipeline(call)
    assert (caught.value.code, caught.value.reason) == (
        FaultCode.PERMISSION_DENIED,
        "server-changed",
    )
    assert not ran.exists()
