"""Hosts without their user: how they are known, and what only looks like one."""

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from switchboard.core.sessions import Session
from switchboard.surface.asking.headless_modes import MODES
from switchboard.surface.asking.unattended import is_unattended

CLAUDE, CODEX = "claude-code 2.1.197", "codex-mcp-client 0.166.0"
# Says when it is there, and stays until its input ends.
WAITS = "import sys; print(flush=True); sys.stdin.read()"


@contextmanager
def started_as(*argv: str) -> Generator[int]:
    """Run something that has these words for its command line."""
    # What the interpreter itself is told stands where none of the words is looked at.
    process = subprocess.Popen(
        [*argv[:1], "-c", WAITS, *argv[1:]],
        executable=sys.executable,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        assert process.stdin is not None
        process.stdin.close()


@pytest.mark.parametrize(
    ("client", "words", "action", "seconds", "is_nobody"),
    [
        (CLAUDE, "claude -p", "cancel", 2.0, True),
        (CLAUDE, "claude --model x", "cancel", 2.0, False),
        # A person who took their time.
        (CLAUDE, "claude -p", "cancel", 20.0, False),
        # No host of the table says yes by itself.
        (CLAUDE, "claude -p", "accept", 2.0, False),
        (CLAUDE, "claude -p", "decline", 2.0, False),
        ("others 1", "others -p", "cancel", 2.0, False),
        ("others 1", "claude -p", "cancel", 2.0, False),
    ],
)
def test_a_host_is_known_by_its_mode_and_by_what_it_answers(
    client: str, words: str, action: str, seconds: float, is_nobody: bool
) -> None:
    with started_as(*words.split()) as pid:
        session = Session(id="s", via="daemon", workspace="/w", client=client, client_pid=pid)
        assert is_unattended(session, action, seconds) == is_nobody
        # Through a launcher that stays between it and us.
        behind = Session(
            id="s", via="daemon", workspace="/w", client=client, client_pid=1, on_behalf_of=(pid,)
        )
        assert is_unattended(behind, action, seconds) == is_nobody


def test_a_process_that_nobody_knows_is_in_no_mode(tmp_path: Path) -> None:
    session = Session(id="s", via="daemon", workspace=str(tmp_path), client=CLAUDE)
    assert not is_unattended(session, "cancel", 2.0)


@pytest.mark.parametrize(
    "argv",
    [
        ["claude", "-p"],
        ["/opt/bin/claude", "-p", "--model", "x"],
        ["claude", "--print", "say hello"],
        ["claude", "say hello", "-p"],
        ["claude", "--model", "x", "--mcp-config", "a.json", "b.json", "-p", "hello"],
        ["claude", "-cp", "go on"],
        ["claude", "-r", "an-id", "-p"],
        ["claude", "-d", "-p"],
        # Its own parser takes no word that looks like an option for a prompt.
        ["claude", "hello", "-p", "--", "more"],
        ["node", "--max-old-space-size=8192", "/lib/@anthropic-ai/claude-code/cli.js", "-p"],
        ["codex", "exec"],
        ["/opt/codex/bin/codex", "exec", "--json", "-"],
        ["codex", "e", "hello"],
        ["codex", "review"],
        ["codex", "-m", "o3", "-c", "model=exec", "--oss", "exec", "hello"],
        ["codex", "-mo3", "--sandbox=read-only", "exec"],
        ["codex", "-i", "a.png", "b.png", "--oss", "exec"],
        ["node", "/usr/bin/codex", "exec", "hello"],
        ["bun", "/lib/@openai/codex/bin/codex.js", "exec"],
    ],
    ids=" ".join,
)
def test_a_host_is_known_by_where_a_word_stands(argv: list[str]) -> None:
    assert any(mode.is_of(argv) for mode in MODES)


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["claude"],
        ["claude", "use -p or --print"],
        ["claude", "exec"],
        ["claude", "--", "-p"],
        ["claude", "--append-system-prompt", "-p"],
        ["claude", "-n", "--print", "hello"],
        ["claude", "-np"],
        ["claude", "-dp"],
        ["claude", "--permission-mode", "plan"],
        ["codex"],
        ["codex", "please exec this"],
        ["codex", "please", "exec", "this"],
        ["codex", "--", "exec"],
        ["codex", "-m", "exec"],
        ["codex", "--profile", "e"],
        ["codex", "-i", "a.png", "exec"],
        ["codex", "resume", "exec"],
        ["codex", "-p", "work"],
        # Other programs, whatever they are told.
        ["npx", "-p", "claude", "switchboard", "mcp"],
        ["sh", "-c", "claude -p hello"],
        ["/opt/codex-tools/runner", "exec"],
        ["node", "server.js", "-p"],
        ["node", "-p", "1"],
        ["node"],
    ],
    ids=" ".join,
)
def test_nor_is_a_prompt_or_a_value_taken_for_a_mode(argv: list[str]) -> None:
    assert not any(mode.is_of(argv) for mode in MODES)
