"""Nothing that a hostile repository brings along is run by an engine that works in it."""

import json
import subprocess
from pathlib import Path

import pytest

from engines.claude_stage import NEW, OLD, claude_stage
from engines.codex_stage import codex_stage
from engines.contract import ended, heard
from engines.hostile import WORDS, hostile_repository
from engines.opencode_stage import opencode_stage
from support.models.script import say, shell
from switchboard.engines.events import Permission
from switchboard.engines.profile import AgentProfile, RunFields, SandboxMode

pytestmark = pytest.mark.timeout(300)


def test_the_repository_would_run_what_git_is_told_to(tmp_path: Path) -> None:
    """Or the tests below would prove nothing."""
    made = hostile_repository(tmp_path / "repository", tmp_path / "ran")
    for words in (("status",), ("diff",), ("checkout", "-q", "-b", "other")):
        subprocess.run(["git", *words], cwd=made.root, check=False, capture_output=True)
    assert {"git-fsmonitor", "git-clean-filter", "git-external-diff"} <= set(made.ran)
    assert "git-hook-post-checkout" in made.ran


@pytest.mark.parametrize("place", ["", "deep/down"])
@pytest.mark.parametrize("sandbox", ["workspace-write", "danger-full-access"])
async def test_codex_runs_nothing_of_it(tmp_path: Path, place: str, sandbox: SandboxMode) -> None:
    fields = RunFields(sandbox_mode=sandbox, approval_policy="never")
    async with codex_stage(tmp_path, [shell("echo hi"), say("all done")]) as stage:
        made = hostile_repository(stage.cwd, tmp_path / "ran")
        cwd = stage.cwd / place
        cwd.mkdir(parents=True, exist_ok=True)
        conversation = stage.converse(cwd=str(cwd), profile=AgentProfile(name="t", fields=fields))
        assert ended(await heard(conversation)).text == "all done"
        await conversation.aclose()
        assert made.ran == []
        assert stage.model.conversation["model"] == "mock-model"
        assert "evil" not in json.dumps(stage.model.conversation["tools"])


async def test_codex_follows_what_is_trusted_of_it(tmp_path: Path) -> None:
    async with codex_stage(tmp_path, [say("all done")]) as stage:
        made = hostile_repository(stage.cwd, tmp_path / "ran")
        (stage.user / ".codex" / "AGENTS.md").write_text("The user likes short answers.")
        conversation = stage.converse(trusted_folder=str(stage.cwd))
        await heard(conversation)
        await conversation.aclose()
        assert "codex-server" in made.ran
        # Nobody was shown what its repository would start, nor what others would.
        assert [name for name in made.ran if not name.startswith("codex-")] == []
        # The home of the user is another one than that of Codex.
        assert "short answers" in json.dumps(stage.model.conversation["input"])


@pytest.mark.parametrize("package", [OLD, NEW], ids=["old", "new"])
async def test_claude_code_runs_nothing_of_it_and_says_nothing_of_it(
    tmp_path: Path, package: str
) -> None:
    steps = [shell("touch asked"), say("done")]
    async with claude_stage(tmp_path, steps, package=package) as stage:
        made = hostile_repository(stage.cwd, tmp_path / "ran")
        conversation = stage.converse()
        events = await heard(conversation, verdict="decline")
        await conversation.aclose()
        assert ended(events).text == "done"
        # What the repository allows itself has to be asked for all the same.
        assert [event.subject for event in events if isinstance(event, Permission)]
        assert made.ran == []
        assert WORDS not in json.dumps([request.body for request in stage.model.requests])


async def test_claude_code_follows_what_is_trusted_of_it(tmp_path: Path) -> None:
    async with claude_stage(tmp_path, [say("done")]) as stage:
        made = hostile_repository(stage.cwd, tmp_path / "ran")
        # They would lead away from the model of this test.
        for name in ("settings.json", "settings.local.json"):
            path = stage.cwd / ".claude" / name
            path.write_text(json.dumps({"hooks": json.loads(path.read_text())["hooks"]}), "utf-8")
        conversation = stage.converse(trusted_folder=str(stage.cwd))
        assert ended(await heard(conversation)).text == "done"
        await conversation.aclose()
        assert "settings.json-SessionStart" in made.ran
        assert [name for name in made.ran if not name.startswith("settings.")] == []


async def test_opencode_does_not_begin_where_it_would_run_something(tmp_path: Path) -> None:
    async with opencode_stage(tmp_path, [say("done")]) as stage:
        made = hostile_repository(stage.cwd, tmp_path / "ran")
        conversation = stage.converse()
        last = ended(await heard(conversation))
        await conversation.aclose()
        assert last.failure is not None
        assert last.failure.kind == "workspace-untrusted"
        assert made.ran == []
        assert stage.model.requests == []


async def test_opencode_runs_nothing_of_the_rest(tmp_path: Path) -> None:
    async with opencode_stage(tmp_path, [say("done")]) as stage:
        made = hostile_repository(stage.cwd, tmp_path / "ran", for_opencode=False)
        conversation = stage.converse()
        assert ended(await heard(conversation)).text == "done"
        await conversation.aclose()
        assert made.ran == []
        assert WORDS not in json.dumps([request.body for request in stage.model.requests])
