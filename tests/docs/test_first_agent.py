"""The first example of docs/agents.md, as a person types it, on the real Codex."""

import re
from collections.abc import Generator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from agents.real_codex import playing
from docs.pages import blocks_of
from docs.story import Story
from support.hosts import codex_program
from support.models.script import say, shell

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def story() -> Generator[Story]:
    # Short, so that the socket lies in the home as it does for users.
    with TemporaryDirectory(prefix="sb-", ignore_cleanup_errors=True) as folder:
        told = Story(Path(folder), daemon=True)
        program = str(codex_program())
        text = f'guard = false\n[agents]\nprograms = {{ codex = "{program}" }}\n'
        (told.workspace.home / "config.toml").write_text(text)
        yield told
        told.workspace.stop_daemon()


def test_an_agent_is_written_trusted_and_given_a_task(story: Story) -> None:
    typed, _, shown, *_ = blocks_of("docs/agents.md")
    write, check, trust, run = typed.commands
    assert story.types(write)[0] == 0
    code, said = story.types(check)
    assert (code, "1 agent without a mistake" in said) == (0, True), said
    code, said = story.types(trust)
    assert (code, "agent_reviewer" in said) == (0, True), said
    then = trust.partition("then: ")[2]
    assert then == "switchboard trust agent_reviewer"
    code, said = story.types(then)
    assert code == 0, said
    with playing(story.workspace, shell("exit 2"), say("Nothing to add.")):
        code, said = story.types(run)
    assert code == 0, said
    assert "Nothing to add." in said
    first, began, command, *_ = shown.text.splitlines()
    # What differs is the number of the run, the model and the command.
    assert re.search(re.sub(r"r-\w+", r"r-\\w+", re.escape(first).replace(r"\-", "-")), said), said
    assert began.rpartition(" ")[0] in said
    assert command.partition("(")[2] in said
