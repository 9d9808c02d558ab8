"""What engines follow in a workspace: only what its owner has trusted, and only as it is."""

import json
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from agents.lab import Lab
from agents.test_other_engines import an_agent, ask_helper, claude_env
from cli.commands import trust_shown
from support.hosts import claude_program
from support.models.messages import messages_model
from support.models.script import say
from support.sources import agents
from support.workspace import Json, Workspace
from switchboard.providers.agents.work.engine_trust import EngineTrust, TrustedSettings
from switchboard.settings.trust import trust, untrust

CLAUDE = ".claude/settings.json"


def hooks(command: str) -> Json:
    return {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": command}]}]}}


@pytest.fixture
def claude(lab: Lab) -> Lab:
    """A workspace with an agent on Claude Code, and settings of it that run a script."""
    lab.agent('name = "one"\nengine = "claude"\n')
    lab.put(lab.workspace / CLAUDE, hooks("sh $CLAUDE_PROJECT_DIR/tools/hook.sh"))
    lab.put(lab.workspace / "tools" / "hook.sh", "true\n")
    trust(lab.load(trusted=False), ["agent_one"])
    return lab


def of(lab: Lab, cwd: Path | None = None, engine: str = "claude") -> TrustedSettings:
    settings = lab.load(trusted=False)
    place = os.path.realpath(cwd or lab.workspace)
    return EngineTrust(settings, agents(settings)).of(engine, place)


def waiting(lab: Lab) -> dict[str, str]:
    settings = lab.load(trusted=False)
    return {each.name: each.trust for each in EngineTrust(settings, agents(settings)).items()}


def give_trust(lab: Lab, name: str = ".claude") -> None:
    assert trust(lab.load(trusted=False), [name])


def test_nothing_is_followed_before_it_is_trusted(claude: Lab) -> None:
    assert waiting(claude) == {".claude": "waiting"}
    found = of(claude)
    assert found.folder == ""
    assert found.added_to("Claude Code") == "Claude Code"
    assert "switchboard trust .claude" in found.notices[0]


def test_what_was_trusted_is_followed_in_the_workspace_and_below(claude: Lab) -> None:
    give_trust(claude)
    assert waiting(claude) == {".claude": "trusted"}
    below = claude.workspace / "a" / "b"
    below.mkdir(parents=True)
    for place in (claude.workspace, below):
        assert of(claude, place).folder == str(claude.workspace)
    # Whoever is asked about a call is told of it.
    assert ".claude" in of(claude).added_to("Claude Code")
    untrust(claude.load(trusted=False), [".claude"])
    assert of(claude).folder == ""


def test_trust_is_for_one_engine(claude: Lab) -> None:
    give_trust(claude)
    claude.put(claude.workspace / ".codex" / "config.toml", 'notify = ["true"]\n')
    assert of(claude, engine="codex").folder == ""
    assert of(claude, engine="acp:opencode") == TrustedSettings()


CHANGES = {
    "the settings": (CLAUDE, json.dumps(hooks("other"))),
    "the script that they name": ("tools/hook.sh", "touch it-ran\n"),
    "a file beside them": (".claude/hooks/more.sh", "touch it-ran\n"),
    "other settings": (".claude/settings.local.json", "{}"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_any_change_of_what_was_trusted_asks_again(claude: Lab, what: str) -> None:
    give_trust(claude)
    place, text = CHANGES[what]
    claude.put(claude.workspace / place, text)
    assert of(claude).folder == ""
    assert waiting(claude) == {".claude": "waiting"}


def test_a_folder_with_settings_of_its_own_is_not_followed(claude: Lab) -> None:
    give_trust(claude)
    below = claude.workspace / "vendored"
    claude.put(below / CLAUDE, hooks("touch it-ran"))
    found = of(claude, below)
    assert found.folder == ""
    assert "its own" in found.notices[0]
    assert of(claude).folder == str(claude.workspace)


def test_settings_above_the_workspace_were_not_looked_at(claude: Lab, tmp_path: Path) -> None:
    give_trust(claude)
    claude.put(tmp_path / CLAUDE, hooks("touch it-ran"))
    assert of(claude).folder == ""


def test_another_folder_is_never_trusted_by_this_one(claude: Lab, tmp_path: Path) -> None:
    give_trust(claude)
    other = tmp_path / "workspace-2"
    claude.put(other / CLAUDE, (claude.workspace / CLAUDE).read_text("utf-8"))
    assert of(claude, other) == TrustedSettings()


def link(folder: Path) -> None:
    (folder / ".claude" / "link").symlink_to("/etc/hostname")


def pipe(folder: Path) -> None:
    os.mkfifo(folder / ".claude" / "pipe")


def many(folder: Path) -> None:
    for number in range(501):
        (folder / ".claude" / f"{number}.md").touch()


def large(folder: Path) -> None:
    (folder / ".claude" / "large").write_bytes(b"x" * (8 * 1024 * 1024 + 1))


@pytest.mark.parametrize("made", [link, pipe, many, large])
def test_what_cannot_be_bound_to_its_content_cannot_be_trusted(claude: Lab, made: object) -> None:
    assert callable(made)
    made(claude.workspace)
    settings = claude.load(trusted=False)
    (item,) = EngineTrust(settings, agents(settings)).items()
    assert item.left_out
    assert item.trust == "waiting"
    trust(settings, [".claude"])
    assert of(claude).folder == ""


def test_a_project_of_codex_and_of_opencode_is_shown_with_what_it_runs(lab: Lab) -> None:
    lab.agent('name = "one"\n')
    lab.agent('name = "two"\nengine = "acp:opencode"\n', name="two.toml")
    lab.put(
        lab.workspace / ".codex" / "config.toml",
        '[mcp_servers.evil]\ncommand = "/bin/sh"\nargs = ["-c", "touch x"]\n',
    )
    lab.put(lab.workspace / "opencode.json", {"mcp": {"evil": {"command": ["touch", "x"]}}})
    settings = lab.load(trusted=False)
    items = {each.name: each.runs for each in EngineTrust(settings, agents(settings)).items()}
    assert set(items) == {".codex", ".opencode"}
    assert 'command "/bin/sh"' in items[".codex"]
    assert "touch x" in items[".codex"]
    assert "opencode.json" in items[".opencode"]


def test_settings_of_an_engine_that_no_agent_uses_are_nobodys_business(lab: Lab) -> None:
    lab.agent('name = "one"\n')
    lab.put(lab.workspace / CLAUDE, hooks("true"))
    assert waiting(lab) == {}


def test_a_user_who_trusts_the_whole_workspace_trusts_these_too(claude: Lab) -> None:
    settings = claude.load(trusted=True)
    found = EngineTrust(settings, agents(settings)).of("claude", str(claude.workspace))
    assert found.folder == str(claude.workspace)
    nothing = replace(agents(settings), trusts_workspace=False)
    assert EngineTrust(settings, nothing).of("claude", str(claude.workspace)).folder == ""


@pytest.mark.timeout(300)
async def test_a_hook_of_the_workspace_runs_in_the_real_claude_code_once_it_is_trusted(
    workspace: Workspace,
) -> None:
    program = json.dumps(str(claude_program("claude-modern")))
    an_agent(workspace, "claude", f"[agents]\nprograms = {{ claude = {program} }}\n")
    del workspace.env["SWITCHBOARD_TRUST_WORKSPACE"]
    ran = workspace.user_home / "ran"
    workspace.write("hook.sh", f"echo once >> {ran}\n")
    workspace.write(CLAUDE, json.dumps(hooks(f"sh {workspace.root}/hook.sh")))
    done = {"ok": True, "output": "done"}
    with messages_model(say("done")) as model:
        workspace.env |= claude_env(model, workspace)
        assert await ask_helper(workspace) == done
        assert not ran.exists()
        given = trust_shown(workspace, ".claude")
        assert given.code == 0, given.err
        assert await ask_helper(workspace) == done
        assert ran.read_text("utf-8") == "once\n"
        # The same command would run, with another script behind it.
        workspace.write("hook.sh", f"echo twice >> {ran}\n")
        assert await ask_helper(workspace) == done
        assert ran.read_text("utf-8") == "once\n"
