"""What comes of the keys that a person presses in front of the question of a real host."""

import time

import pytest

from cli.commands import Finished, switchboard
from e2e.questioned import ASKED, DONE, HOSTS, Desk, asked, workspace
from support.requirements import requirement
from support.workspace import Workspace
from switchboard.surface.asking.unattended import READING_S

SMALL = (80, 24)
__all__ = ["workspace"]


def press(desk: Desk, keys: tuple[tuple[str, str], ...]) -> None:
    """Read the question, then press keys until each shows."""
    time.sleep(READING_S)
    for key, then in keys:
        desk.pane.press_until(key, then)


def typed(workspace: Workspace, *words: str) -> Finished:
    """Type a command in another terminal."""
    return switchboard(workspace, *words, apart=True)


def decided(workspace: Workspace, verb: str, *more: str) -> str:
    """Answer in another terminal; gives the id."""
    [waiting] = typed(workspace, "approvals", "--json").report["approvals"]
    done = typed(workspace, "approvals", verb, waiting["id"], *more)
    assert done.code == 0, done.err
    return waiting["id"]


@requirement("S3.26", "S3.34")
@pytest.mark.parametrize("name", HOSTS)
@pytest.mark.timeout(180)
def test_who_says_no_is_heard(name: str, workspace: Workspace) -> None:
    # In Codex that is Enter, pressed without a thought.
    with asked(HOSTS[name], workspace, SMALL) as desk:
        press(desk, HOSTS[name].decline)
    assert "the user does not want `create_entities` to run" in desk.model.results[0]
    assert not desk.kept.exists()


@requirement("S3.34")
@pytest.mark.parametrize("name", HOSTS)
@pytest.mark.timeout(180)
def test_who_closes_the_question_has_not_agreed(name: str, workspace: Workspace) -> None:
    with asked(HOSTS[name], workspace, SMALL) as desk:
        press(desk, (("Escape", DONE),))
    assert "the user did not agree" in desk.model.results[0]
    assert not desk.kept.exists()


@pytest.mark.parametrize("name", ["claude-code", "codex"])
@pytest.mark.timeout(180)
def test_a_question_that_is_answered_elsewhere_leaves_the_screen(
    name: str, workspace: Workspace
) -> None:
    with asked(HOSTS[name], workspace, SMALL) as desk:
        decided(workspace, "approve", "--yes")
        desk.pane.until(lambda screen: DONE in screen and ASKED not in screen)
    assert "Ada" in desk.kept.read_text("utf-8")


@pytest.mark.timeout(180)
def test_a_no_that_comes_after_a_yes_elsewhere_is_told_as_what_it_is(workspace: Workspace) -> None:
    host = HOSTS["claude-code-modern"]
    with asked(host, workspace, SMALL) as desk:
        decided(workspace, "approve", "--yes")
        # This host shows it until somebody replies: the protocol has no word to take it back.
        press(desk, host.decline)
    told = desk.model.results[0]
    assert "Too late, the user said no to this call in the client" in told
    assert "it had been approved at " in told
    assert "Ada" in desk.kept.read_text("utf-8")
