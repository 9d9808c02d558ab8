"""Three grades of risk: what each is for, and that none of them decides who is asked."""

from pathlib import Path
from typing import Any

import pytest

from approvals.ground import READS, WRITES, a_command, a_launch, a_tool
from support.requirements import requirement
from switchboard.approvals.risk import asks, assess
from switchboard.core.launches import Launch
from switchboard.core.sessions import Session
from switchboard.core.tools import Effects
from switchboard.surface import unattended
from switchboard.surface.unattended import is_unattended

SILENT = Effects()


def tool(name: str, effects: Effects = SILENT, **more: Any) -> Launch:
    return a_launch(a_tool(name, effects=effects, description="Does it."), **more)


@pytest.mark.parametrize(
    ("launch", "level"),
    [
        (tool("delete_repo"), "high"),
        (tool("dropTable"), "high"),
        (tool("create-payment-refund"), "high"),
        (tool("sendEmail"), "high"),
        (tool("git_push", WRITES), "high"),
        (tool("write_file", Effects(read_only=False, destructive=True)), "high"),
        (tool("create_issue", Effects(read_only=False, open_world=True)), "high"),
        (a_command(side_effects=("network",), network=True), "high"),
        (tool("create_entities", WRITES), "medium"),
        (tool("search"), "medium"),
        (tool("postal_code"), "medium"),
        (tool("read_query", READS, trusts_annotations=False), "medium"),
        (a_command(sandbox="none"), "medium"),
        (tool("delete_preview", READS), "low"),
        (tool("fetch", Effects(read_only=True, open_world=True)), "low"),
        (a_command(), "low"),
    ],
    ids=lambda each: each.tool.name if isinstance(each, Launch) else each,
)
def test_a_grade_follows_from_what_is_declared_and_from_the_name(
    launch: Launch, level: str
) -> None:
    assert assess(launch).level == level


@requirement("S3.104", "S3.105")
@pytest.mark.parametrize("name", ["search", "delete_repo"])
@pytest.mark.parametrize("effects", [SILENT, WRITES, Effects(destructive=True)])
def test_every_grade_of_a_tool_that_is_not_known_to_read_must_ask(
    name: str, effects: Effects
) -> None:
    launch = tool(name, effects, requires_approval=False)
    assert assess(launch).must_ask
    assert asks(launch, assess(launch))


def test_a_name_makes_nobody_ask() -> None:
    launch = tool("delete_preview", READS)
    assert not asks(launch, assess(launch))


# Hosts without their user


@pytest.mark.parametrize(
    ("client", "words", "action", "seconds", "is_nobody"),
    [
        ("claude-code 2.1.197", "claude -p --model x", "cancel", 2.0, True),
        ("claude-code 2.1.197", "claude --print", "cancel", 2.0, True),
        ("codex-mcp-client 0.166.0", "codex exec --json -", "decline", 2.0, True),
        # A person who is there, and one who took their time.
        ("claude-code 2.1.197", "claude --model x", "cancel", 2.0, False),
        ("claude-code 2.1.197", "claude -p", "cancel", 20.0, False),
        # No host of the table says yes by itself.
        ("claude-code 2.1.197", "claude -p", "accept", 2.0, False),
        ("codex-mcp-client 0.166.0", "codex exec", "cancel", 2.0, False),
        ("others 1", "others -p", "cancel", 2.0, False),
    ],
)
def test_a_host_is_known_by_its_mode_and_by_what_it_answers(  # noqa: PLR0917 - a table
    monkeypatch: pytest.MonkeyPatch,
    client: str,
    words: str,
    action: str,
    seconds: float,
    is_nobody: bool,
) -> None:
    def command_line(pid: int) -> str:
        return words if pid == 7 else ""

    monkeypatch.setattr(unattended, "command_line", command_line)
    session = Session(id="s", via="daemon", workspace="/w", client=client, client_pid=7)
    assert is_unattended(session, action, seconds) == is_nobody


def test_a_process_that_nobody_knows_is_in_no_mode(tmp_path: Path) -> None:
    session = Session(id="s", via="daemon", workspace=str(tmp_path), client="claude-code 2")
    assert not is_unattended(session, "cancel", 2.0)
