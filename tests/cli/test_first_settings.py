"""Who has no settings yet is given better ones than the defaults, in a file that says why."""

import tomllib

import pytest

from cli.commands import UNTRUSTING, switchboard, typed
from support.workspace import Workspace

BETTER = {
    "guard": True,
    "surface_tokens": "balanced",
    "results": {"mode": "passthrough", "inline_tokens": 8_000},
    "introspection": {"mode": "auto", "format": "signatures"},
    "surface": {"split": "auto"},
    "timeouts": {"rpc_ms": 300_000},
}


def settings_of(workspace: Workspace) -> str | None:
    file = workspace.home / "config.toml"
    return file.read_text("utf-8") if file.exists() else None


@pytest.mark.parametrize("words", [(), ("--global",)])
def test_the_first_server_of_somebody_brings_settings_along(
    workspace: Workspace, words: tuple[str, ...]
) -> None:
    done = typed(workspace, "add", "mine", *words, "--", "true")
    assert done.code == 0
    assert "wrote ~/.switchboard/config.toml: settings for all your workspaces" in done.err
    text = settings_of(workspace) or ""
    assert tomllib.loads(text) == BETTER
    # Each of them after the reason for it.
    for table in (
        "guard = true",
        "surface_tokens",
        "[results]",
        "[introspection]",
        "[surface]",
        "[timeouts]",
    ):
        before = text.partition(f"\n{table}")[0].splitlines()
        assert before[-1].startswith("# ")
    shown = switchboard(workspace, "config", "show", "--json", env=UNTRUSTING)
    assert shown.code == 0
    assert '"passthrough"' in shown.out
    # The second finds them there.
    assert "config.toml" not in typed(workspace, "add", "other", "--", "true").err


def test_who_has_settings_keeps_them(workspace: Workspace) -> None:
    workspace.config_toml("# mine\n", scope="home")
    before = settings_of(workspace)
    assert typed(workspace, "add", "mine", "--", "true").code == 0
    assert settings_of(workspace) == before


def test_a_script_writes_no_settings_into_the_home(workspace: Workspace) -> None:
    assert switchboard(workspace, "add", "mine", "--", "true").code == 0
    assert settings_of(workspace) is None


def test_where_adding_fails_no_settings_are_left(workspace: Workspace) -> None:
    assert typed(workspace, "add", "mine", "--", "true").code == 0
    (workspace.home / "config.toml").unlink()
    again = typed(workspace, "add", "mine", "--", "true")
    assert again.code == 2
    assert settings_of(workspace) is None


def test_a_workspace_is_prepared_with_the_same_values(workspace: Workspace) -> None:
    assert switchboard(workspace, "init").code == 0
    text = (workspace.settings / "config.toml").read_text("utf-8")
    assert tomllib.loads(text) == {key: each for key, each in BETTER.items() if key != "guard"}
