"""Real hosts show their models an introspection whole, however many tools a server has."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.test_hosts import HOSTS, played
from support.models.script import say, use
from support.requirements import requirement
from support.workspace import Workspace, child_command

# 60 tools of 1,100 letters: more than any of them shows.
TOOLS = 60
WIDE = child_command("wide_child", str(TOOLS), "1000", "300")
NAMES = {f"do_thing_{number}" for number in range(TOOLS)}
# The most that a host is sent of an introspection, and what it is known to cut, in letters.
LIMITS = {
    "claude-code": (39_000, 56_000),
    "claude-code-modern": (39_000, 56_000),
    "codex": (9_500, 14_000),
    "codex-searching": (39_000, 56_000),
}


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    workspace = Workspace(tmp_path, daemon=True)
    workspace.child("wide", WIDE)
    yield workspace
    workspace.stop_daemon()


def named_in(text: str) -> set[str]:
    return {name for name in NAMES if f'\\"{name}\\"' in text}


@requirement("S2.43", "S2.46")
@pytest.mark.parametrize("mode", ["summary", "auto"])
@pytest.mark.parametrize("name", LIMITS)
async def test_a_big_introspection_is_not_cut(name: str, mode: str, workspace: Workspace) -> None:
    workspace.config_json({"introspection": {"mode": mode}})
    model = await played(
        HOSTS[name],
        workspace,
        use("wide_suite", action="introspect"),
        use("wide_suite", action="introspect", subtool="do_thing_7,do_thing_52"),
        say("done"),
    )
    every, two = model.results
    assert named_in(every) == NAMES, every
    assert "Schemas are left out" in every
    assert "Begin with thing 0." in every
    assert "inputSchema" not in every
    assert named_in(two) == {"do_thing_7", "do_thing_52"}
    assert "limit_7" in two
    assert "limit_52" in two
    assert "Begin with" not in two
    for text in model.results:
        assert "persisted-output" not in text
        assert "truncated" not in text


@pytest.mark.parametrize("name", LIMITS)
async def test_the_table_of_hosts_says_what_they_cut(name: str, workspace: Workspace) -> None:
    """A host that cuts earlier, or later, than the table says needs another line there."""
    workspace.config_toml('[results]\nmode = "passthrough"\n')
    shown, cut = LIMITS[name]
    model = await played(
        HOSTS[name],
        workspace,
        use("wide_suite", action="call", subtool="page", args={"letters": shown}),
        use("wide_suite", action="call", subtool="page", args={"letters": cut}),
        say("done"),
    )
    whole, less = model.results
    assert len(whole) >= shown
    assert len(less) < cut
