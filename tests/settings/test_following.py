"""`follow`, in every file that says how a server is started."""

from typing import Any

import pytest

from settings.ground import Ground
from switchboard.children.schema import ServerEntry
from switchboard.settings.sections import Settings
from switchboard.settings.trust import trust_folder

FOLLOW = {"command": "some-server", "follow": "worktree"}


def only(settings: Settings) -> ServerEntry:
    (entry,) = settings.servers
    assert settings.omitted == ()
    return entry


@pytest.mark.parametrize("place", ["home", "workspace", "toml", "child", "given"])
def test_every_file_that_declares_a_server_may_say_it(ground: Ground, place: str) -> None:
    config = None
    match place:
        case "home":
            ground.put(ground.home / "mcp.json", {"mcpServers": {"x": FOLLOW}})
        case "workspace":
            ground.put(ground.own / "mcp.json", {"mcpServers": {"x": FOLLOW}})
        case "toml":
            text = '[mcp_servers.x]\ncommand = "some-server"\nfollow = "worktree"\n'
            ground.put(ground.home / "config.toml", text)
        case "child":
            ground.child("x", {"name": "x", "command": {"cmd": "x"}, "follow": "worktree"})
        case _:
            config = ground.put(ground.home / "given.json", {"mcpServers": {"x": FOLLOW}})
    assert only(ground.load(config=config)).follow == "worktree"


def test_it_starts_in_the_workspace_which_has_to_be_trusted(ground: Ground) -> None:
    """An empty folder of its own, as `npx` has it by itself, is nobody's worktree."""
    for command in ("some-server", "npx"):
        ground.put(ground.home / "mcp.json", {"mcpServers": {"x": {**FOLLOW, "command": command}}})
        settings = ground.load(trusted=False)
        assert settings.servers == ()
        (left_out,) = settings.omitted
        assert "this folder is not trusted" in left_out.reason
        assert left_out.hint == "switchboard trust --folder"
        trust_folder(str(ground.home), str(ground.workspace))
        entry = only(ground.load(trusted=False))
        assert (entry.neutral, entry.apart_from) == (False, "")
        ground.home.joinpath("trust.json").unlink()


@pytest.mark.parametrize(
    ("more", "key"),
    [
        ({"scope": "user"}, "scope"),
        ({"start_in": "neutral"}, "start_in"),
        ({"sandbox_features": ["browser"], "sandbox_profile": "default"}, "sandbox_features"),
        ({"command": None, "url": "https://example.org/mcp"}, "follow"),
        ({"follow": "branch"}, "follow"),
    ],
)
def test_what_keeps_it_from_standing_in_a_worktree_is_refused(
    ground: Ground, more: dict[str, Any], key: str
) -> None:
    fields = {name: value for name, value in {**FOLLOW, **more}.items() if value is not None}
    ground.put(ground.home / "mcp.json", {"mcpServers": {"x": fields}})
    assert ground.refused_keys() == [f"mcpServers.x.{key}"]


def test_a_suite_that_makes_it_everybodys_leaves_it_out(ground: Ground) -> None:
    ground.put(ground.home / "mcp.json", {"mcpServers": {"x": FOLLOW}})
    ground.put(ground.home / "switchboard.config.json", {"suites": {"x": {"scope": "user"}}})
    (left_out,) = ground.load().omitted
    assert "one process is in one worktree" in left_out.reason
    # A suite is not where it is said.
    ground.put(ground.home / "switchboard.config.json", {"suites": {"x": {"follow": "worktree"}}})
    assert ground.refused_keys() == ["suites.x.follow"]


def test_a_folder_outside_of_the_workspace_is_in_no_worktree(ground: Ground) -> None:
    elsewhere = ground.user_home / "elsewhere"
    elsewhere.mkdir()
    given = ground.user_home / "given.json"
    ground.put(given, {"mcpServers": {"x": {**FOLLOW, "cwd": str(elsewhere)}}})
    (left_out,) = ground.load(config=given).omitted
    assert "its `cwd` is in none of their worktrees" in left_out.reason
    ground.put(given, {"mcpServers": {"x": {**FOLLOW, "cwd": "tools"}}})
    assert only(ground.load(config=given)).cwd == str(ground.workspace / "tools")


def test_a_server_of_the_workspace_that_follows_from_now_on_asks_for_trust_anew(
    ground: Ground,
) -> None:
    prints: set[str] = set()
    for fields in ({"command": "some-server"}, FOLLOW):
        ground.put(ground.own / "mcp.json", {"mcpServers": {"x": fields}})
        (waiting,) = ground.load(trusted=False).untrusted
        prints.add(waiting.fingerprint)
    assert len(prints) == 2
