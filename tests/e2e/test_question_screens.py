"""What a person sees of a question in the real terminals of Claude Code and Codex.

The screens are kept beside this file. After a change of words, or of a host, look at the new ones,
which a failed test leaves in `.run/screens`, and copy them if a person could decide by them.
"""

import json
import os
import time
from pathlib import Path

import pytest

from e2e.questioned import DECLARING, DONE, HOSTS, asked, create, drawn, workspace
from support.models.script import use
from support.requirements import requirement
from support.workspace import CHECKOUT, Json, Workspace, server
from switchboard.surface.asking.unattended import READING_S

SCREENS = Path(__file__).parent / "screens"
SEEN = CHECKOUT / ".run" / "screens"
SIZES = [(80, 24), (200, 50)]
# More than any of them shows at 80 columns, with something at the end of it.
LONG: Json = {
    "name": "src/very/long/path/to/somewhere/deep/config.production.yaml",
    "entityType": "file",
    "observations": ["a line of text that is long, " * 40 + "and then: rm -rf ~"],
}

__all__ = ["workspace"]


def sized(size: tuple[int, int]) -> str:
    return "x".join(map(str, size))


def is_as_kept(seen: str, file: str) -> None:
    """Compare a screen with the one that is kept."""
    SEEN.mkdir(parents=True, exist_ok=True)
    (SEEN / file).write_text(f"{seen}\n", "utf-8")
    wanted = (SCREENS / file).read_text("utf-8")
    if os.getuid() != 0:
        wanted = wanted.replace("Careful: runs as ROOT \u00b7 ", "All of it: ")
    assert f"{seen}\n" == wanted


@requirement("S3.28", "S3.31", "S3.32", "S3.107")
@pytest.mark.parametrize("size", SIZES, ids=sized)
@pytest.mark.parametrize("name", HOSTS)
@pytest.mark.timeout(180)
def test_a_person_sees_what_is_decided_and_accepts_it_once(
    name: str, size: tuple[int, int], workspace: Workspace
) -> None:
    host = HOSTS[name]
    with asked(host, workspace, size) as desk:
        seen = drawn(desk)
        is_as_kept(seen, f"{name}-{sized(size)}.txt")
        assert not desk.kept.exists()
        # A person reads first: what is pressed sooner is not taken for an answer.
        time.sleep(READING_S)
        for key, then in host.accept:
            desk.pane.press_until(key, then)
    assert "Ada" in desk.kept.read_text("utf-8")


@requirement("S3.32", "S3.107")
# The older Claude Code shows all of a question, and lets its first lines scroll out of the window.
@pytest.mark.parametrize("size", SIZES, ids=sized)
@pytest.mark.parametrize("name", ["claude-code-modern", "codex"])
@pytest.mark.timeout(180)
def test_of_long_arguments_both_ends_are_seen_and_where_all_of_them_are(
    name: str, size: tuple[int, int], workspace: Workspace
) -> None:
    with asked(HOSTS[name], workspace, size, create(LONG)) as desk:
        is_as_kept(drawn(desk), f"{name}-long-{sized(size)}.txt")


@requirement("S3.31", "S3.107")
@pytest.mark.parametrize("size", SIZES, ids=sized)
@pytest.mark.parametrize("name", ["claude-code-modern", "codex"])
@pytest.mark.timeout(240)
def test_what_is_silent_and_what_destroys_are_told_apart_at_a_glance(
    name: str, size: tuple[int, int], workspace: Workspace
) -> None:
    host = HOSTS[name]
    (workspace.root / "repo.py").symlink_to(DECLARING)
    declared = json.dumps({"search_log": {}, "delete_branch": {"destructiveHint": True}})
    workspace.mcp_json({"repo": server(["python3", "repo.py", declared])})
    silent = use("repo_suite", action="call", subtool="search_log", args={"words": "invoice"})
    destroys = use("repo_suite", action="call", subtool="delete_branch", args={"name": "main"})
    with asked(host, workspace, size, silent, destroys, about="repo.search_log") as desk:
        is_as_kept(drawn(desk), f"{name}-silent-{sized(size)}.txt")
        time.sleep(READING_S)
        for key, then in host.decline:
            # Twice at most: pressed once more it would answer the next one.
            desk.pane.press_until(key, then if then != DONE else "repo.delete_branch", times=2)
        is_as_kept(drawn(desk), f"{name}-high-{sized(size)}.txt")
        time.sleep(READING_S)
        for key, then in host.decline:
            desk.pane.press_until(key, then)
    assert all("does not want" in told for told in desk.model.results[:2])
