"""How Claude Code fails, and what is told of it."""

import socket
from pathlib import Path

import pytest

from engines.claude_stage import NEW, OLD, claude_stage
from engines.contract import ended, heard
from support.models.messages import refused
from support.models.script import Cut, Refuse, Step, say, shell, stumble
from switchboard.engines.claude.engine import ClaudeEngine
from switchboard.engines.events import CommandItem, FailureKind, Notice, TurnEnded
from switchboard.engines.failures import sentence

BOTH = pytest.mark.parametrize("package", [OLD, NEW], ids=["old", "new"])
LIMIT = "Your credit balance is too low to access the Anthropic API."
LONG = "prompt is too long: 250000 tokens > 200000 maximum"


async def _last(folder: Path, package: str, *steps: Step) -> TurnEnded:
    async with claude_stage(folder, steps, package=package) as stage:
        conversation = stage.converse()
        last = ended(await heard(conversation))
        await conversation.aclose()
        return last


@BOTH
@pytest.mark.parametrize(
    ("refusal", "kind"),
    [
        (refused(401, "authentication_error", "invalid x-api-key"), "not-logged-in"),
        (refused(404, "not_found_error", "model: mock-model"), "model-unknown"),
        (refused(429, "rate_limit_error"), "rate-limited"),
        (refused(400, "invalid_request_error", LIMIT), "quota-exceeded"),
        (refused(400, "invalid_request_error", LONG), "context-overflow"),
        (refused(400, "invalid_request_error"), "model-refused"),
        (refused(500, "api_error"), "model-unreachable"),
        (refused(529, "overloaded_error"), "model-unreachable"),
    ],
    ids=lambda value: value if isinstance(value, str) else str(value.status),
)
async def test_each_refusal_of_the_service_is_a_failure_of_its_kind(
    tmp_path: Path, package: str, refusal: Refuse, kind: FailureKind
) -> None:
    last = await _last(tmp_path, package, stumble(refusal))
    assert last.status == "failed"
    assert last.failure is not None
    assert last.failure.kind == kind, last


@BOTH
async def test_a_service_that_cuts_the_stream_fails_the_turn(tmp_path: Path, package: str) -> None:
    # Claude Code may go on from the half that it got, and is to fail there too.
    last = await _last(tmp_path, package, *[stumble(Cut())] * 9)
    assert last.status == "failed"
    assert last.failure is not None
    assert last.failure.kind in {"stream-cut", "model-unreachable"}, last


@BOTH
async def test_a_service_that_nobody_serves_fails_the_turn(tmp_path: Path, package: str) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        async with claude_stage(tmp_path, package=package) as stage:
            conversation = stage.converse(env={**stage.env, "ANTHROPIC_BASE_URL": url})
            events = await heard(conversation)
            await conversation.aclose()
    last = ended(events)
    assert last.failure is not None
    assert last.failure.kind == "model-unreachable", last
    assert [event for event in events if isinstance(event, Notice) and event.is_retry]


@BOTH
async def test_an_empty_answer_is_a_failure(tmp_path: Path, package: str) -> None:
    last = await _last(tmp_path, package, say(" "))
    assert last.failure is not None
    assert last.failure.kind == "empty-answer", last


@BOTH
async def test_without_a_login_the_turn_says_so(tmp_path: Path, package: str) -> None:
    async with claude_stage(tmp_path, [say("done")], package=package) as stage:
        env = {name: value for name, value in stage.env.items() if name != "ANTHROPIC_API_KEY"}
        readiness = await stage.engine.ready(env)
        assert "logged in" in readiness.problem
        assert readiness.hint
        conversation = stage.converse(env=env)
        last = ended(await heard(conversation))
        await conversation.aclose()
    assert last.failure is not None
    assert last.failure.kind == "not-logged-in", last


async def test_an_unknown_conversation_cannot_be_gone_on_with(tmp_path: Path) -> None:
    async with claude_stage(tmp_path, [say("done")]) as stage:
        conversation = stage.converse(resume="01234567-89ab-cdef-0123-456789abcdef")
        last = ended(await heard(conversation))
        await conversation.aclose()
        assert last.status == "failed"
        assert last.failure is not None
        assert "No conversation found" in last.failure.private
        assert stage.model.requests == []


async def test_a_line_of_a_megabyte_is_read(tmp_path: Path) -> None:
    command = "head -c 1500000 /dev/zero | tr '\\0' x"
    async with claude_stage(tmp_path, [shell(command), say("y" * 1_500_000)]) as stage:
        conversation = stage.converse()
        events = await heard(conversation)
        await conversation.aclose()
        assert len(ended(events).text) == 1_500_000
        (done,) = [e for e in events if isinstance(e, CommandItem) and e.status == "completed"]
        assert len(done.output) <= 64 * 1024


async def test_a_program_that_is_missing_or_too_old_is_named(tmp_path: Path) -> None:
    old = tmp_path / "claude"
    old.write_text("#!/bin/sh\necho '1.0.3 (Claude Code)'\n", "utf-8")
    old.chmod(0o700)
    assert "too old" in (await ClaudeEngine(str(old)).ready({})).problem
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\nexit 3\n", "utf-8")
    broken.chmod(0o700)
    assert "version" in (await ClaudeEngine(str(broken)).ready({})).problem
    missing = await ClaudeEngine().ready({"PATH": str(tmp_path / "empty")})
    assert "not found" in missing.problem
    assert "npm install" in missing.hint
    async with claude_stage(tmp_path / "stage") as stage:
        conversation = stage.converse(program=str(tmp_path / "none"))
        last = ended(await heard(conversation))
        assert last.failure is not None
        assert last.failure.kind == "engine-missing"
        await conversation.aclose()


@pytest.mark.parametrize(
    ("file", "why"),
    [
        ("\x7fELF, cut off", "Exec format error"),
        ("#!/no/such/shell\n", "No such file or directory"),
    ],
)
async def test_a_program_that_the_system_does_not_start_is_told_apart(
    tmp_path: Path, file: str, why: str
) -> None:
    program = tmp_path / "claude"
    program.write_text(file, "utf-8")
    program.chmod(0o700)
    async with claude_stage(tmp_path / "stage") as stage:
        conversation = stage.converse(program=str(program))
        last = ended(await heard(conversation))
        await conversation.aclose()
    assert last.failure is not None
    assert last.failure.kind == "engine-not-started"
    said = sentence(last.failure, "claude")
    assert said.startswith(f"The program Claude Code could not be started ({why}); `switchboard d")
    assert str(tmp_path) not in said


async def test_a_program_of_another_version_is_told_apart(tmp_path: Path) -> None:
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\necho \"error: unknown option '--x'\" >&2\nexit 1\n", "utf-8")
    program.chmod(0o700)
    async with claude_stage(tmp_path / "stage") as stage:
        conversation = stage.converse(program=str(program))
        last = ended(await heard(conversation))
        await conversation.aclose()
    assert last.failure is not None
    assert last.failure.kind == "engine-version"
