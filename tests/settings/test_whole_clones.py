"""A clone is larger than the folder of it that is opened: all of it is somebody else's."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from settings.ground import Ground
from support.requirements import attack
from switchboard.children.schema import ServerEntry
from switchboard.core.origins import Scope
from switchboard.settings.trust import still_trusted, trust

SERVERS = {"mcpServers": {"x": {"command": "touch", "args": ["owned"]}}}


def _put(path: Path, text: str = "good") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def _opened(ground: Ground) -> Path:
    """A folder of a clone becomes the workspace. Returns the clone."""
    clone = ground.workspace
    _put(clone / ".git" / "HEAD")
    ground.workspace = clone / "packages" / "app"
    ground.own = ground.workspace / ".switchboard"
    ground.workspace.mkdir(parents=True)
    return clone


def _trusted(ground: Ground, words: list[str], env: Mapping[str, str] = {}) -> ServerEntry:
    entry = {"command": words[0], "args": words[1:], "env": dict(env)}
    ground.put(ground.own / "mcp.json", {"mcpServers": {"x": entry}})
    trust(ground.load(trusted=False))
    (trusted,) = ground.load(trusted=False).servers
    return trusted


@pytest.mark.parametrize(
    ("words", "runs"),
    [
        (["sh", "../../run.sh"], "run.sh"),
        (["python3", "../tools/server.py"], "packages/tools/server.py"),
        (["../../bin/server", "stdio"], "bin/server"),
        (["make", "-C", "../.."], "Makefile"),
        (["sh", "-c", "cd ../.. && node server.js"], "server.js"),
        (["npm", "start"], "package.json"),
        (["npx", "-y", "mcp-x"], ".npmrc"),
        (["npx", "-y", "mcp-x"], "node_modules/.bin/mcp-x"),
        (["npx", "-y", "mcp-x"], "node_modules/mcp-x/index.js"),
        (["uvx", "mcp-x"], "uv.toml"),
        (["uv", "run", "x.py"], "pyproject.toml"),
        (["cargo", "run"], "src/main.rs"),
    ],
)
@attack("T84")
def test_code_beside_the_workspace_is_bound(ground: Ground, words: list[str], runs: str) -> None:
    """Attempted: a folder of a clone is opened and trusted, and code elsewhere in it changes."""
    clone = _opened(ground)
    _put(ground.workspace / "x.py")
    changed = _put(clone / runs, "")
    trusted = _trusted(ground, words)
    assert still_trusted(trusted, str(ground.workspace))
    changed.write_text("\n# other\n", "utf-8")
    assert not still_trusted(trusted, str(ground.workspace))


@pytest.mark.parametrize(
    ("words", "runs"),
    [
        (["sh", "../run.sh"], "run.sh"),
        (["node", "--require=../hook.js", "server.js"], "hook.js"),
        (["npx", "-y", "mcp-x"], "node_modules/.bin/mcp-x"),
        (["npx", "-y", "mcp-x"], ".npmrc"),
    ],
)
@attack("T84")
def test_code_above_a_folder_that_is_no_repository_is_bound(
    ground: Ground, words: list[str], runs: str
) -> None:
    changed = _put(ground.workspace.parent / runs)
    _put(ground.workspace / "server.js")
    trusted = _trusted(ground, words)
    changed.write_text("evil", "utf-8")
    assert not still_trusted(trusted, str(ground.workspace))


def test_a_folder_that_git_does_not_take_for_a_repository_is_none(ground: Ground) -> None:
    (ground.workspace.parent / ".git").mkdir()
    other = _put(ground.workspace.parent / "other" / "a.txt")
    trusted = _trusted(ground, ["make", "serve"])
    other.write_text("other", "utf-8")
    assert still_trusted(trusted, str(ground.workspace))


def test_what_lies_beside_it_may_change_where_a_line_can_be_followed(ground: Ground) -> None:
    clone = _opened(ground)
    _put(ground.workspace / "server.js")
    other = _put(clone / "README.md")
    trusted = _trusted(ground, ["node", "server.js"])
    other.write_text("other", "utf-8")
    assert still_trusted(trusted, str(ground.workspace))


@pytest.mark.parametrize("place", ["packages/.sb", ".sb", "."])
@pytest.mark.parametrize("variable", ["SWITCHBOARD_HOME", "AGH_HOME"])
@attack("T85")
def test_a_home_beside_the_workspace_is_refused(ground: Ground, variable: str, place: str) -> None:
    """Attempted: a project file of a client opens a folder of the clone and names another home."""
    home = _opened(ground) / place
    ground.put(home / "mcp.json", SERVERS)
    (problem,) = ground.refused(trusted=False, **{variable: str(home)})
    assert variable in problem.message
    assert "a repository" in problem.message


@attack("T85")
def test_a_home_of_a_clone_is_refused_wherever_it_is_used_from(ground: Ground) -> None:
    clone = _opened(ground)
    ground.put(clone / ".sb" / "mcp.json", SERVERS)
    ground.workspace = ground.user_home / "elsewhere"
    ground.workspace.mkdir()
    (problem,) = ground.refused(trusted=False, SWITCHBOARD_HOME=str(clone / ".sb"))
    assert "a repository" in problem.message


def test_the_usual_home_may_be_kept_in_a_repository(ground: Ground) -> None:
    kept = ground.user_home / "dotfiles" / "switchboard"
    ground.put(kept / "mcp.json", SERVERS)
    _put(kept.parent / ".git" / "HEAD")
    ground.home.symlink_to(kept)
    assert len(ground.load(trusted=False).servers) == 1
    assert len(ground.load(trusted=False, SWITCHBOARD_HOME=str(kept)).servers) == 1


@attack("T85")
def test_a_file_beside_the_workspace_is_its_word(ground: Ground) -> None:
    given = ground.put(_opened(ground) / "servers.json", SERVERS)
    settings = ground.load(config=given, trusted=False)
    assert settings.servers == ()
    assert [each.origin.scope for each in settings.untrusted] == [Scope.WORKSPACE]
