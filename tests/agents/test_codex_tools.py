"""`codex` and `codex-reply` over runs: what they say to the engine, and to their clients."""

import json
from pathlib import Path

from agents.ground import HeardChannel, ScriptedAsker, board
from fakes.engines import Fails, Runs, Says
from support.requirements import requirement
from switchboard.core.calls.call import Outcome, TextBlock
from switchboard.core.sessions import Session
from switchboard.engines.profile import RunFields


def answer_of(outcome: Outcome) -> tuple[str, str]:
    """Give the thread and the content, which the text repeats."""
    assert outcome.structured is not None
    structured = json.loads(bytes(outcome.structured))
    assert set(structured) == {"threadId", "content"}
    [block] = outcome.blocks
    assert isinstance(block, TextBlock)
    assert block.text == structured["content"]
    return structured["threadId"], structured["content"]


@requirement("S3.113")
async def test_a_thread_is_begun_and_gone_on_with(home: Path) -> None:
    async with board(home, Says("two bugs")) as desk:
        outcome = await desk.outcome("codex", {"prompt": "look", "cwd": str(home)})
        thread, content = answer_of(outcome)
        assert content == "two bugs"
        assert not outcome.is_error
        for name in ("threadId", "conversationId"):
            again = await desk.outcome("codex-reply", {"prompt": f"by {name}", name: thread})
            assert answer_of(again)[0] == thread
        last = desk.conversation
        assert last.spec.resume == thread
        assert last.tasks == ["by conversationId"]
        assert last.spec.folder == desk.engine.conversations[0].spec.folder


@requirement("S3.115")
async def test_without_the_guard_codex_decides_by_its_own_settings(home: Path) -> None:
    async with board(home, Says("done")) as desk:
        await desk.outcome("codex", {"prompt": "look", "cwd": str(home)})
        assert desk.conversation.spec.profile.fields == RunFields()


@requirement("S3.114")
async def test_with_the_guard_a_person_is_asked_and_codex_stays_in_its_sandbox(
    home: Path,
) -> None:
    asker = ScriptedAsker()
    async with board(home, Says("done"), is_guarded=True) as desk:
        await desk.outcome("codex", {"prompt": "look", "cwd": str(home)}, asker=asker)
        assert [question.tool for question in asker.asked] == ["codex"]
        assert desk.conversation.spec.profile.fields == RunFields(
            sandbox_mode="workspace-write", approval_policy="on-request"
        )


async def test_every_argument_reaches_codex(home: Path) -> None:
    async with board(home, Says("done")) as desk:
        given = {
            "prompt": "look",
            "cwd": str(home),
            "model": "gpt-5",
            "sandbox": "read-only",
            "approval-policy": "never",
            "base-instructions": "base",
            "developer-instructions": "developer",
            "compact-prompt": "compact",
            "config": {"model_reasoning_effort": "low"},
        }
        await desk.outcome("codex", given)
        profile = desk.conversation.spec.profile
        assert profile.fields == RunFields(
            model="gpt-5", sandbox_mode="read-only", approval_policy="never"
        )
        assert profile.base_instructions == "base"
        assert profile.developer_instructions == "developer"
        assert profile.compact_prompt == "compact"
        assert profile.config == {"model_reasoning_effort": "low"}
        assert not desk.run.spec.may_write


async def test_clients_hear_the_events_they_know(home: Path) -> None:
    channel = HeardChannel()
    async with board(home, Runs("touch a"), Says("done")) as desk:
        outcome = await desk.outcome("codex", {"prompt": "x", "cwd": str(home)}, channel=channel)
        thread, _ = answer_of(outcome)
        assert {method for method, _ in channel.notified} == {"codex/event"}
        told = [params for _, params in channel.notified]
        assert all(set(each) == {"_meta", "msg", "id"} for each in told)
        assert all(each["_meta"] == {"requestId": 7, "threadId": thread} for each in told)
        assert [each["msg"]["type"] for each in told] == [
            "session_configured",
            "mcp_startup_complete",
            "task_started",
            "user_message",
            "exec_command_begin",
            "exec_command_end",
            "agent_message_content_delta",
            "agent_message",
            "token_count",
            "task_complete",
        ]


async def test_an_unknown_thread_is_told_in_the_words_of_codex(home: Path) -> None:
    async with board(home) as desk:
        outcome = await desk.outcome("codex-reply", {"prompt": "x", "threadId": "t-0"})
        assert answer_of(outcome) == ("t-0", "Session not found for thread_id: t-0")
        assert outcome.is_error


async def test_a_failure_is_an_error_with_a_sentence(home: Path) -> None:
    async with board(home, Fails("quota-exceeded")) as desk:
        outcome = await desk.outcome("codex", {"prompt": "look", "cwd": str(home)})
        assert outcome.is_error
        assert "quota" in answer_of(outcome)[1]


async def test_a_relative_folder_is_one_of_the_session(home: Path) -> None:
    (home / "part").mkdir()
    async with board(home, Says("done"), workspace=str(home)) as desk:
        await desk.outcome("codex", {"prompt": "look", "cwd": "part"}, session=a_session(home))
        assert desk.conversation.spec.cwd == str(home / "part")


def a_session(home: Path) -> Session:
    return Session(id="s", via="stdio", workspace=str(home), cwd=str(home))
