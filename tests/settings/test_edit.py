"""Adding and removing a server leaves the rest of the file alone."""

import json
import stat

import pytest

from settings.ground import Ground
from switchboard.config.problems import ConfigInvalid
from switchboard.core.origins import Scope
from switchboard.settings.writing.edit import add_server, remove_server


def test_a_server_is_added_to_a_file_that_is_not_there_yet(ground: Ground) -> None:
    path = ground.own / "mcp.json"
    add_server(str(path), "x", {"command": "npx", "args": ["-y", "é"]}, scope=Scope.WORKSPACE)
    assert path.read_text("utf-8").endswith("\n")
    assert json.loads(path.read_text("utf-8")) == {
        "mcpServers": {"x": {"command": "npx", "args": ["-y", "é"]}}
    }
    assert [entry.args for entry in ground.load().servers] == [("-y", "é")]


def test_a_server_stays_in_its_collection_and_the_others_stay_as_they_are(ground: Ground) -> None:
    path = ground.put(
        ground.home / "mcp.json",
        {
            "mcp_servers": {"b": {"command": "b"}, " x ": {"command": "old"}},
            "mcpServers": {"a": {"command": "a"}},
            "custom": {"kept": [1]},
        },
    )
    path.chmod(0o600)
    add_server(str(path), "x", {"command": "new"}, scope=Scope.HOME, replace=True)
    add_server(str(path), "y", {"command": "y"}, scope=Scope.HOME)
    assert json.loads(path.read_text()) == {
        "mcp_servers": {"b": {"command": "b"}, " x ": {"command": "new"}},
        "mcpServers": {"a": {"command": "a"}, "y": {"command": "y"}},
        "custom": {"kept": [1]},
    }
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert remove_server(str(path), "x", scope=Scope.HOME)
    assert not remove_server(str(path), "x", scope=Scope.HOME)
    assert list(json.loads(path.read_text())["mcp_servers"]) == ["b"]


def test_only_the_snake_case_map_is_used_when_only_that_is_there(ground: Ground) -> None:
    path = ground.put(ground.home / "mcp.json", {"mcp_servers": {}})
    add_server(str(path), "x", {"command": "x"}, scope=Scope.HOME)
    assert json.loads(path.read_text()) == {"mcp_servers": {"x": {"command": "x"}}}


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("x", {}),
        ("x", {"command": "x", "url": "https://a"}),
        ("x", {"comand": "x"}),
        ("  ", {"command": "x"}),
        ("old", {"command": "x"}),
    ],
)
def test_a_wrong_server_is_refused_and_nothing_is_saved(
    ground: Ground, name: str, fields: dict[str, str]
) -> None:
    path = ground.put(ground.home / "mcp.json", {"mcpServers": {"old": {"command": "x"}}})
    before = path.read_bytes()
    with pytest.raises(ConfigInvalid):
        add_server(str(path), name, fields, scope=Scope.HOME)
    assert path.read_bytes() == before
    assert [each.name for each in ground.home.iterdir()] == ["mcp.json"]


def test_a_name_that_is_taken_can_be_replaced_and_the_hint_says_how(ground: Ground) -> None:
    path = ground.put(ground.home / "mcp.json", {"mcpServers": {"old": {"command": "x"}}})
    with pytest.raises(ConfigInvalid) as caught:
        add_server(str(path), "old", {"command": "y"}, scope=Scope.HOME)
    assert "`--replace`" in caught.value.problems[0].hint
    add_server(str(path), "old", {"command": "y"}, scope=Scope.HOME, replace=True)
    assert json.loads(path.read_text())["mcpServers"] == {"old": {"command": "y"}}


def test_a_broken_file_is_not_overwritten(ground: Ground) -> None:
    path = ground.put(ground.home / "mcp.json", "{ broken")
    with pytest.raises(ConfigInvalid):
        add_server(str(path), "x", {"command": "x"}, scope=Scope.HOME)
    assert path.read_text() == "{ broken"


@pytest.mark.parametrize("verb", ["add", "remove"])
def test_a_link_is_refused_and_its_target_not_read(ground: Ground, verb: str) -> None:
    target = ground.put(ground.user_home / "target.json", "not json at all")
    ground.home.mkdir()
    link = ground.home / "mcp.json"
    link.symlink_to(target)
    edit = {
        "add": lambda: add_server(str(link), "x", {"command": "x"}, scope=Scope.HOME),
        "remove": lambda: remove_server(str(link), "x", scope=Scope.HOME),
    }[verb]
    with pytest.raises(ConfigInvalid) as caught:
        edit()
    assert "symbolic link" in caught.value.problems[0].message
    assert target.read_text() == "not json at all"
