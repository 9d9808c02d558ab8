"""Each way in which a turn of the real Codex goes wrong ends it, and says which way it was."""

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest

from engines.codex_stage import FIELDS, codex_stage
from engines.contract import PATIENCE, ended, heard, next_of
from support.hosts import codex_settings
from support.models.responses import failed, refusal
from support.models.script import Cut, Refuse, Stream, Stumble, say, shell, stumble
from support.processes import alive, descendants_of, program_below
from support.requirements import requirement
from support.workspace import NODE_MODULES
from switchboard.core.faults import Fault
from switchboard.engines.events import (
    AgentMessage,
    CommandItem,
    FailureKind,
    Notice,
    Opened,
    Permission,
    RawItem,
    TextDelta,
    TokenUsage,
    TurnEnded,
)
from switchboard.engines.failures import sentence
from switchboard.engines.profile import AgentProfile, AttachedServer, RunFields

HTML = Refuse(500, {"error": {"message": "SECRET-DETAIL of the service"}})
TOO_MANY = Refuse(429, {"error": {"message": "slow down", "type": "rate_limit"}})

KINDS: list[tuple[Stumble, FailureKind]] = [
    (refusal(401, "invalid_api_key"), "not-logged-in"),
    (TOO_MANY, "rate-limited"),
    (HTML, "model-refused"),
    (refusal(400, "invalid_request_error", "bad request"), "model-refused"),
    (refusal(404, "model_not_found", "The model `x` does not exist"), "model-unknown"),
    (failed("insufficient_quota", "You exceeded your current quota"), "quota-exceeded"),
    (failed("context_length_exceeded", "too long"), "context-overflow"),
    (Cut(), "stream-cut"),
]


@requirement("S0.11")
@pytest.mark.parametrize(("stumbling", "kind"), KINDS, ids=[kind for _, kind in KINDS])
async def test_a_failure_of_the_model_service_has_a_kind_and_a_sentence_of_ours(
    tmp_path: Path, stumbling: Stumble, kind: FailureKind
) -> None:
    async with codex_stage(tmp_path, [stumble(stumbling)]) as stage:
        conversation = stage.converse()
        last = ended(await heard(conversation))
        await conversation.aclose()
    assert last.status == "failed"
    assert last.failure is not None
    assert last.failure.kind == kind, last
    told = sentence(last.failure, "codex")
    assert told.endswith(".")
    assert "SECRET-DETAIL" not in told


async def test_a_refused_connection_fails_soon_instead_of_waiting_for_the_network(
    tmp_path: Path,
) -> None:
    async with codex_stage(tmp_path) as stage:
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))
            port = nobody.getsockname()[1]
            text = (stage.user / ".codex" / "config.toml").read_text("utf-8")
            stage.config(text.replace(stage.model.url, f"http://127.0.0.1:{port}"))
            conversation = stage.converse()
            events = await heard(conversation)
            await conversation.aclose()
    last = ended(events)
    assert last.failure is not None
    assert last.failure.kind in {"model-unreachable", "stream-cut"}, last
    assert any(isinstance(event, Notice) and event.is_retry for event in events)


async def test_an_empty_answer_is_a_failure(tmp_path: Path) -> None:
    async with codex_stage(tmp_path, [say("")]) as stage:
        conversation = stage.converse()
        last = ended(await heard(conversation))
        await conversation.aclose()
    assert last.failure is not None
    assert last.failure.kind == "empty-answer"


async def test_a_missing_program_fails_the_turn(tmp_path: Path) -> None:
    async with codex_stage(tmp_path) as stage:
        conversation = stage.converse(program=str(tmp_path / "no-codex"))
        last = ended(await heard(conversation))
        assert conversation.pid == 0
        await conversation.aclose()
    assert last.failure is not None
    assert last.failure.kind == "engine-missing"


async def test_a_program_that_the_system_does_not_start_fails_the_turn(tmp_path: Path) -> None:
    program = tmp_path / "codex"
    program.write_text("\x7fELF, cut off", "utf-8")
    program.chmod(0o700)
    async with codex_stage(tmp_path) as stage:
        conversation = stage.converse(program=str(program))
        last = ended(await heard(conversation))
        await conversation.aclose()
    assert last.failure is not None
    assert last.failure.kind == "engine-not-started"


@pytest.mark.parametrize("cwd", ["missing", "a-file", "relative"])
async def test_a_working_directory_that_is_none_fails_the_turn(tmp_path: Path, cwd: str) -> None:
    async with codex_stage(tmp_path, [say("never")]) as stage:
        (tmp_path / "a-file").touch()
        place = "cwd" if cwd == "relative" else str(tmp_path / cwd)
        conversation = stage.converse(cwd=place)
        last = ended(await heard(conversation))
        await conversation.aclose()
        assert not stage.model.requests
    assert last.failure is not None
    assert last.failure.kind == "configuration-refused"


async def test_an_unknown_setting_fails_the_turn_and_names_it_in_the_log_only(
    tmp_path: Path,
) -> None:
    profile = AgentProfile(name="tester", config={"no_such_setting": 1})
    async with codex_stage(tmp_path, [say("never")]) as stage:
        conversation = stage.converse(profile=profile)
        last = ended(await heard(conversation))
        await conversation.aclose()
    assert last.failure is not None
    assert last.failure.kind == "configuration-refused"
    assert "no_such_setting" in last.failure.private
    assert "no_such_setting" not in sentence(last.failure, "codex")


@pytest.mark.parametrize("required", [True, False])
async def test_a_server_that_does_not_start_fails_the_turn_only_where_it_is_required(
    tmp_path: Path, required: bool
) -> None:
    broken = AttachedServer(name="broken", command="/no/such/server", required=required)
    profile = AgentProfile(name="tester", fields=FIELDS, servers=(broken,))
    async with codex_stage(tmp_path, [say("without it")]) as stage:
        conversation = stage.converse(profile=profile)
        events = await heard(conversation)
        await conversation.aclose()
    last = ended(events)
    if required:
        assert last.failure is not None
        assert last.failure.kind == "server-missing", last
    else:
        assert last.text == "without it"
        assert any(isinstance(e, Notice) and "broken" in e.text for e in events)


async def test_a_line_of_a_megabyte_comes_through(tmp_path: Path) -> None:
    command = "head -c 1100000 /dev/zero | tr '\\0' x"
    async with codex_stage(tmp_path, [shell(command), say("all done")]) as stage:
        conversation = stage.converse()
        events = await heard(conversation)
        await conversation.aclose()
    assert ended(events).text == "all done"
    outputs = [len(e.output) for e in events if isinstance(e, CommandItem)]
    assert max(outputs) > 1_000_000, outputs


async def test_a_second_task_while_a_turn_is_under_way_is_refused(tmp_path: Path) -> None:
    async with codex_stage(
        tmp_path, [shell("true", sandbox_permissions="require_escalated")]
    ) as st:
        conversation = st.converse()
        turn = conversation.turn("one")
        await next_of(turn, Permission)
        with pytest.raises(Fault, match="under way"):
            await anext(aiter(conversation.turn("two")))
        await conversation.aclose()
        await next_of(turn, TurnEnded)


async def test_a_turn_tells_its_messages_its_usage_and_codex_own_words(tmp_path: Path) -> None:
    async with codex_stage(tmp_path, [shell("echo hello"), say("all done")]) as stage:
        conversation = stage.converse()
        events = await heard(conversation)
        await conversation.aclose()
    assert isinstance(events[0], Opened)
    assert TextDelta(text="all done") in events
    assert AgentMessage(text="all done") in events
    assert TokenUsage(input_tokens=200, output_tokens=40) in events
    commands = [event for event in events if isinstance(event, CommandItem)]
    assert [event.status for event in commands] == ["started", "completed"]
    assert (commands[1].exit_status, commands[1].output) == (0, "hello\n")
    raw = {event.type for event in events if isinstance(event, RawItem)}
    assert raw >= {"turn/started", "item/completed", "rawResponseItem/completed", "turn/completed"}


async def test_a_command_that_the_sandbox_denies_is_at_least_told_raw(tmp_path: Path) -> None:
    fields = RunFields(sandbox_mode="read-only", approval_policy="never")
    async with codex_stage(tmp_path, [shell("touch denied"), say("it was denied")]) as stage:
        conversation = stage.converse(profile=AgentProfile(name="tester", fields=fields))
        events = await heard(conversation)
        await conversation.aclose()
        assert not (stage.cwd / "denied").exists()
        assert "Read-only file system" in stage.model.results[0]
    raw = [event.data for event in events if isinstance(event, RawItem)]
    assert any("function_call_output" in data and "Read-only" in data for data in raw)


def _program_of(pid: int) -> str:
    return Path(f"/proc/{pid}/exe").readlink().name


async def test_a_killed_launcher_leaves_nothing_because_there_is_none(tmp_path: Path) -> None:
    launcher = NODE_MODULES / "@openai" / "codex" / "bin" / "codex.js"
    async with codex_stage(tmp_path, [say("all done")]) as stage:
        conversation = stage.converse(program=str(launcher))
        await heard(conversation)
        pid = program_below(conversation.pid)
        assert _program_of(pid) == "codex"
        await conversation.aclose()
        assert not alive(pid)


async def test_two_conversations_at_once_do_not_meet(tmp_path: Path) -> None:
    async with codex_stage(tmp_path, [say("all done")]) as stage:
        both = stage.converse(), stage.converse()
        async with asyncio.timeout(PATIENCE):
            ends: list[Any] = await asyncio.gather(*map(heard, both))
        assert [ended(events).text for events in ends] == ["all done", "all done"]
        assert both[0].thread_id != both[1].thread_id
        for conversation in both:
            await conversation.aclose()


async def test_an_answer_that_the_service_leaves_incomplete_fails_the_turn(tmp_path: Path) -> None:
    response = {"id": "r", "status": "incomplete"}
    cut = {**response, "incomplete_details": {"reason": "max_output_tokens"}}
    events = [
        {"type": "response.created", "response": {"id": "r", "status": "in_progress"}},
        {"type": "response.incomplete", "response": cut},
    ]
    async with codex_stage(tmp_path, [stumble(Stream(events))]) as stage:
        conversation = stage.converse()
        last = ended(await heard(conversation))
        await conversation.aclose()
    assert last.failure is not None
    assert last.failure.kind == "context-overflow", last


async def test_a_model_that_codex_does_not_know_works_and_is_remarked(tmp_path: Path) -> None:
    profile = AgentProfile(name="tester", fields=RunFields(model="model-4711"))
    async with codex_stage(tmp_path, [say("all done")]) as stage:
        conversation = stage.converse(profile=profile)
        events = await heard(conversation)
        await conversation.aclose()
        assert stage.model.conversation["model"] == "model-4711"
    assert ended(events).text == "all done"
    assert any(isinstance(event, Notice) and "model-4711" in event.text for event in events)


async def test_a_command_that_outlives_the_turn_is_ended_with_the_conversation(
    tmp_path: Path,
) -> None:
    command = "touch up; sleep 87655; true"
    steps = [shell(command, yield_time_ms=250), say("it still runs")]
    async with codex_stage(tmp_path, steps) as stage:
        conversation = stage.converse()
        assert ended(await heard(conversation)).text == "it still runs"
        assert (stage.cwd / "up").exists()
        family = descendants_of(conversation.pid)
        assert any("87655" in _line_of(pid) for pid in family)
        await conversation.aclose()
        assert [pid for pid in family if alive(pid)] == []


def _line_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text("utf-8")
    except OSError:
        return ""


async def test_without_a_login_nothing_is_started_and_the_turn_says_so(tmp_path: Path) -> None:
    async with codex_stage(tmp_path, [say("never")]) as stage:
        stage.config('model = "gpt-5.5"\n')
        conversation = stage.converse()
        last = ended(await heard(conversation))
        assert conversation.pid == 0
        await conversation.aclose()
        # A provider that the agent names may want no login.
        text = codex_settings(stage.model).replace('model_provider = "loopback"\n', "")
        stage.config(text)
        fields = RunFields(model_provider="loopback", sandbox_mode="read-only")
        other = stage.converse(profile=AgentProfile(name="tester", fields=fields))
        assert ended(await heard(other)).text == "never"
        await other.aclose()
    assert last.failure is not None
    assert last.failure.kind == "not-logged-in"


@pytest.mark.parametrize(
    ("says", "kind"),
    [
        ("error: unrecognized subcommand 'app-server'", "engine-version"),
        ("error: unexpected argument '--strict-config' found", "engine-version"),
        ("Segmentation fault", "engine-crashed"),
    ],
)
async def test_a_codex_that_cannot_be_driven_is_told_apart_from_one_that_crashed(
    tmp_path: Path, says: str, kind: FailureKind
) -> None:
    program = tmp_path / "codex"
    program.write_text(f'#!/bin/sh\necho "{says}" >&2\nexit 2\n')
    program.chmod(0o755)
    async with codex_stage(tmp_path) as stage:
        conversation = stage.converse(program=str(program))
        last = ended(await heard(conversation))
        await conversation.aclose()
    assert last.failure is not None
    assert last.failure.kind == kind
    assert says in last.failure.private
