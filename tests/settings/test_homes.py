"""A home, a file and a variable that a repository could have chosen do not choose what runs."""

from pathlib import Path

import pytest

from settings.ground import Ground
from support.requirements import attack
from switchboard.core.origins import Scope
from switchboard.settings.trust import trust, trust_folder

SERVERS = {"mcpServers": {"x": {"command": "touch", "args": ["owned"]}}}


@pytest.mark.parametrize("variable", ["SWITCHBOARD_HOME", "AGH_HOME"])
@attack("B18")
def test_a_home_in_the_workspace_is_refused(ground: Ground, variable: str) -> None:
    """Attempted: a project file of a client points the home at a folder of the clone."""
    home = ground.workspace / ".sb"
    ground.put(home / "mcp.json", SERVERS)
    (problem,) = ground.refused(trusted=False, **{variable: str(home)})
    assert (problem.path, variable in problem.message) == (str(home), True)


def test_a_link_to_a_home_in_the_workspace_is_refused_too(ground: Ground, tmp_path: Path) -> None:
    ground.put(ground.workspace / ".sb" / "mcp.json", SERVERS)
    link = tmp_path / "link"
    link.symlink_to(ground.workspace / ".sb")
    (problem,) = ground.refused(trusted=False, SWITCHBOARD_HOME=str(link))
    assert "leads into the workspace" in problem.message


def test_a_home_that_others_can_write_is_refused(ground: Ground) -> None:
    ground.put(ground.home / "mcp.json", SERVERS)
    ground.home.chmod(0o777)
    (problem,) = ground.refused(trusted=False)
    assert "can be written by other users" in problem.message
    ground.home.chmod(0o755)
    assert len(ground.load(trusted=False).servers) == 1


def test_the_usual_home_counts_also_for_who_works_beside_it(ground: Ground) -> None:
    ground.put(ground.home / "mcp.json", SERVERS)
    ground.workspace = ground.user_home
    assert len(ground.load(trusted=False).servers) == 1


def test_a_file_of_the_workspace_is_its_word_however_it_is_named(ground: Ground) -> None:
    """Attempted: `--config` names a file of the clone, directly or by a link."""
    given = ground.put(ground.workspace / "servers.json", SERVERS)
    link = ground.user_home / "servers.json"
    link.symlink_to(given)
    for path in (given, link):
        settings = ground.load(config=path, trusted=False)
        assert settings.servers == ()
        assert [each.origin.scope for each in settings.untrusted] == [Scope.WORKSPACE]
    trust(ground.load(config=given, trusted=False))
    (entry,) = ground.load(config=given, trusted=False).servers
    assert entry.fingerprint


def test_it_may_not_load_code_into_what_runs(ground: Ground) -> None:
    entry = {"command": "x", "env": {"PYTHONPATH": "."}}
    given = ground.put(ground.workspace / "servers.json", {"mcpServers": {"x": entry}})
    assert ground.refused_keys(config=given, trusted=False) == ["mcpServers.x.env.PYTHONPATH"]


@attack("B18")
def test_a_variable_does_not_undo_what_was_decided_folder_by_folder(ground: Ground) -> None:
    """Attempted: a project file of a client sets the variable that is meant for containers."""
    ground.put(ground.own / "mcp.json", SERVERS)
    # As in a container: nothing was ever decided, or nothing of another folder.
    assert len(ground.load(settled=True).servers) == 1
    trust_folder(str(ground.home), str(ground.workspace))
    assert len(ground.load(settled=True).servers) == 1
    other = ground.workspace.with_name("other")
    other.mkdir()
    trust_folder(str(ground.home), str(other))
    settings = ground.load(settled=True)
    assert settings.servers == ()
    (warning,) = settings.warnings
    assert "trust_variable" in warning.hint
    ground.put(ground.home / "config.toml", "trust_variable = true\n")
    assert len(ground.load(settled=True).servers) == 1


@pytest.mark.parametrize("home", [".switchboard", ".agh"])
@pytest.mark.parametrize("file", ["mcp.json", "config.toml"])
def test_a_variable_does_not_count_in_a_home_with_settings(
    ground: Ground, home: str, file: str
) -> None:
    """Attempted: the same where nothing was trusted yet, but the home is in use."""
    ground.put(ground.own / "mcp.json", SERVERS)
    ground.put(ground.user_home / home / file, {} if file == "mcp.json" else "# mine\n")
    settings = ground.load(settled=True)
    assert settings.servers == ()
    assert not settings.folder_trusted
    assert "settings of its own" in " ".join(map(str, settings.warnings))
    ground.put(ground.home / "config.toml", "trust_variable = true\n")
    assert len(ground.load(settled=True).servers) == 1


def test_the_workspace_does_not_say_that_the_variable_counts(ground: Ground) -> None:
    ground.put(ground.own / "mcp.json", SERVERS)
    ground.put(ground.own / "config.toml", "trust_variable = true\n")
    other = ground.workspace.with_name("other")
    other.mkdir()
    trust_folder(str(ground.home), str(other))
    assert ground.load(settled=True).servers == ()


@pytest.mark.parametrize("runner", ["npx", "uvx"])
def test_a_package_runner_without_network_is_a_warning(ground: Ground, runner: str) -> None:
    entry = {"command": runner, "args": ["-y", "package"], "sandbox_profile": "default"}
    ground.put(ground.home / "mcp.json", {"mcpServers": {"x": entry}})
    (warning,) = ground.load().warnings
    assert "`allow_network`" in warning.hint
    ground.put(ground.home / "mcp.json", {"mcpServers": {"x": {**entry, "allow_network": True}}})
    assert ground.load().warnings == ()
