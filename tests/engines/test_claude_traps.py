"""What could go wrong around Claude Code, and does not. Each trap was seen to snap without us."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from engines.claude_stage import NEW, OLD, SECRET, claude_stage
from engines.contract import ended, heard, next_of, up_the_chain
from support.models.script import say, shell, use
from support.processes import descendants_of, mentioning, program_below, until_true
from support.workspace import child_command
from switchboard.engines.engine import Reply
from switchboard.engines.events import (
    CommandItem,
    EngineEvent,
    FileItem,
    Form,
    Permission,
    TokenUsage,
    ToolItem,
    TurnEnded,
)
from switchboard.engines.profile import AgentProfile, AttachedServer, RunFields

BOTH = pytest.mark.parametrize("package", [OLD, NEW], ids=["old", "new"])
MODEL = RunFields(model="mock-model")


def _profile(**more: Any) -> AgentProfile:
    given: dict[str, Any] = {"fields": MODEL, **more}
    return AgentProfile(name="tester", **given)


def _echo(**more: Any) -> AttachedServer:
    command, *args = child_command("echo_child", "echo")
    return AttachedServer(name="echo", command=command, args=tuple(args), **more)


def _line(pid: int, name: str = "cmdline") -> bytes:
    """What the kernel knows of a process; of one that has ended, nothing."""
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


@BOTH
async def test_settings_of_a_trusted_workspace_count(tmp_path: Path, package: str) -> None:
    async with claude_stage(tmp_path, [say("done")], package=package) as stage:
        (stage.cwd / "CLAUDE.md").write_text("Be FRIENDLY.", "utf-8")
        conversation = stage.converse(trusted_folder=str(stage.cwd))
        assert ended(await heard(conversation)).text == "done"
        await conversation.aclose()
        assert "FRIENDLY" in json.dumps(stage.model.conversation)


@BOTH
async def test_neither_shells_nor_servers_nor_the_process_table_see_a_secret(
    tmp_path: Path, package: str
) -> None:
    dump = f"{sys.executable} -c 'import os; print(sorted(os.environ))'"
    steps = [shell(dump), shell(up_the_chain()), use("report"), say("done")]
    server = _echo(env={"OWN_TOKEN": "own-4713"})
    async with claude_stage(tmp_path, steps, package=package) as stage:
        env = {**stage.env, "GITHUB_TOKEN": "gh-4714", "OF_A_PROVIDER": "unseen"}
        conversation = stage.converse(env=env, profile=_profile(servers=(server,)))
        seen: dict[int, bytes] = {}
        turn = conversation.turn("Please do as the script says.")
        async for event in turn:
            if isinstance(event, Permission):
                for pid in (conversation.pid, *descendants_of(conversation.pid)):
                    seen[pid] = _line(pid)
                for pid in mentioning("echo_child"):
                    if pid in seen and pid != conversation.pid:
                        held = _line(pid, "environ")
                        assert SECRET.encode() not in held
                        assert b"gh-4714" not in held
                        assert b"OWN_TOKEN=own-4713" in held
                await conversation.answer(event.request_id, Reply(verdict="accept"))
        await conversation.aclose()
        assert seen
        assert any(b"echo_child" in line for line in seen.values())
        whole = b"".join(seen.values())
        assert all(value not in whole for value in (SECRET.encode(), b"own-4713", b"gh-4714"))
        names = stage.model.results[0]
        assert "'PATH'" in names
        # Nobody can guess what a credential is called.
        assert "OF_A_PROVIDER" not in names
        assert "ANTHROPIC_API_KEY" not in names
        assert "GITHUB_TOKEN" not in names
        # Nor does what it came of hold the key where a shell can look.
        above = stage.model.results[1]
        assert "CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR" in above
        assert SECRET not in above
        modes = [path.stat().st_mode & 0o077 for path in (tmp_path / "run-1").iterdir()]
        assert modes
        assert not any(modes)


@BOTH
async def test_a_claude_code_inside_another_one_is_its_own(tmp_path: Path, package: str) -> None:
    async with claude_stage(tmp_path, [say("done")], package=package) as stage:
        inner = {"CLAUDECODE": "1", "CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_CODE_SESSION_ID": "x"}
        conversation = stage.converse(env={**stage.env, **inner})
        assert ended(await heard(conversation)).text == "done"
        assert conversation.thread_id != "x"
        await conversation.aclose()


@BOTH
async def test_an_interrupt_ends_commands_in_groups_of_their_own(
    tmp_path: Path, package: str
) -> None:
    command = "setsid tail -n 4715 -f /dev/null & tail -n 4715 -f /dev/null"
    async with claude_stage(
        tmp_path, [shell(command), say("again"), say("again")], package=package
    ) as stage:
        conversation = stage.converse()
        turn = conversation.turn("Please do as the script says.")
        asked = await next_of(turn, Permission)
        assert asked.subject == command
        await conversation.answer(asked.request_id, Reply(verdict="accept"))

        def tails() -> list[int]:
            own = f"{stage.cwd}"
            return [
                p for p in mentioning(own) if b"4715" in Path(f"/proc/{p}/cmdline").read_bytes()
            ]

        await until_true(lambda: len(tails()) >= 2)
        await conversation.interrupt()
        last = await next_of(turn, TurnEnded)
        assert last.status == "interrupted"
        assert tails() == []
        assert conversation.pid == 0
        # The conversation is still there.
        thread = conversation.thread_id
        assert ended(await heard(conversation, "Once more.")).text == "again"
        assert conversation.thread_id == thread
        await conversation.aclose()


async def test_a_later_conversation_goes_on_where_an_earlier_one_ended(tmp_path: Path) -> None:
    async with claude_stage(tmp_path, [say("one"), say("two")]) as stage:
        first = stage.converse()
        await heard(first, "The word is ZEBRA.")
        await first.aclose()
        second = stage.converse(resume=first.thread_id)
        assert ended(await heard(second, "Which word?")).text == "two"
        assert second.thread_id == first.thread_id
        assert "ZEBRA" in json.dumps(stage.model.conversation)
        await second.aclose()


async def test_instructions_of_any_length_reach_the_model_and_no_command_line(
    tmp_path: Path,
) -> None:
    async with claude_stage(tmp_path, [say("done")]) as stage:
        long = "Be kind. " * 30_000
        profile = _profile(base_instructions="BASE-4716", developer_instructions=long)
        conversation = stage.converse(profile=profile)
        assert ended(await heard(conversation)).text == "done"
        line = _line(program_below(conversation.pid))
        await conversation.aclose()
        assert b"4716" not in line
        system = json.dumps(stage.model.conversation["system"])
        assert "BASE-4716" in system
        assert "Be kind. Be kind." in system


async def test_a_change_of_a_file_is_asked_for_with_its_diff(tmp_path: Path) -> None:
    path = str(tmp_path / "cwd" / "new.txt")
    async with claude_stage(
        tmp_path, [use("Write", file_path=path, content="one\ntwo\n"), say("done")]
    ) as stage:
        events = await heard(conversation := stage.converse())
        await conversation.aclose()
        (asked,) = [event for event in events if isinstance(event, Permission)]
        assert (asked.kind, asked.subject) == ("patch", path)
        assert "+one\n+two" in asked.text
        states = [event.status for event in events if isinstance(event, FileItem)]
        assert states == ["started", "completed"]
        assert (stage.cwd / "new.txt").read_text("utf-8") == "one\ntwo\n"


@BOTH
async def test_read_only_leaves_no_tool_that_writes(tmp_path: Path, package: str) -> None:
    async with claude_stage(tmp_path, [say("done")], package=package) as stage:
        fields = RunFields(model="mock-model", sandbox_mode="read-only")
        conversation = stage.converse(profile=_profile(fields=fields))
        await heard(conversation)
        await conversation.aclose()
        names = {tool.name for tool in stage.model.offers[0].tools}
        assert "Read" in names
        assert not names & {"Bash", "Write", "Edit", "NotebookEdit", "EnterWorktree", "Agent"}


@pytest.mark.parametrize(
    ("sandbox", "is_run"), [("danger-full-access", True), ("workspace-write", False)]
)
async def test_with_never_nobody_is_asked(tmp_path: Path, sandbox: Any, is_run: bool) -> None:
    # Simple commands that change files of the workspace count as edits.
    command = f'{sys.executable} -c \'open("made", "w")\''
    async with claude_stage(tmp_path, [shell(command), say("done")]) as stage:
        fields = RunFields(model="mock-model", approval_policy="never", sandbox_mode=sandbox)
        conversation = stage.converse(profile=_profile(fields=fields))
        events = await heard(conversation)
        await conversation.aclose()
        assert not [event for event in events if isinstance(event, Permission)]
        states = [event.status for event in events if isinstance(event, CommandItem)]
        assert states == ["started", "completed" if is_run else "declined"]
        assert (stage.cwd / "made").exists() == is_run


async def test_only_the_attached_servers_are_there_and_their_calls_are_asked_for(
    tmp_path: Path,
) -> None:
    steps = [use("echo__echo", text="hello"), say("done")]
    async with claude_stage(tmp_path, steps) as stage:
        user = {"mcpServers": {"other": {"command": "/bin/false"}}}
        (stage.user / "claude" / ".claude.json").write_text(json.dumps(user), "utf-8")
        conversation = stage.converse(profile=_profile(servers=(_echo(),)))
        events = await heard(conversation)
        await conversation.aclose()
        (asked,) = [event for event in events if isinstance(event, Permission)]
        assert (asked.kind, asked.subject) == ("tool", "echo/echo")
        assert json.loads(asked.detail) == {"text": "hello"}
        calls = [event for event in events if isinstance(event, ToolItem)]
        assert [(call.server, call.tool, call.status) for call in calls] == [
            ("echo", "echo", "started"),
            ("echo", "echo", "completed"),
        ]
        assert not any("other" in tool.name for tool in stage.model.offers[0].tools)


@pytest.mark.parametrize("is_required", [True, False])
async def test_a_server_that_does_not_start_ends_the_run_only_where_it_is_required(
    tmp_path: Path, is_required: bool
) -> None:
    async with claude_stage(tmp_path, [say("done")]) as stage:
        missing = AttachedServer(name="gone", command="/nonexistent/4717", required=is_required)
        conversation = stage.converse(profile=_profile(servers=(missing,)))
        last = ended(await heard(conversation))
        await conversation.aclose()
        if is_required:
            assert last.failure is not None
            assert last.failure.kind == "server-missing"
            assert stage.model.requests == []
        else:
            assert last.text == "done"


async def test_a_server_that_asks_is_answered_by_who_follows_the_run(tmp_path: Path) -> None:
    command, *args = child_command("talkative_child", "zebra-4720")
    server = AttachedServer(name="talk", command=command, args=tuple(args))
    async with claude_stage(tmp_path, [use("talk__ask"), say("done")]) as stage:
        conversation = stage.converse(profile=_profile(servers=(server,)))
        forms: list[Form] = []
        async for event in conversation.turn("Please do as the script says."):
            if isinstance(event, Permission):
                await conversation.answer(event.request_id, Reply(verdict="accept"))
            if isinstance(event, Form):
                forms.append(event)
                reply = Reply(verdict="accept", content={"right": True})
                await conversation.answer(event.request_id, reply)
        await conversation.aclose()
        assert [form.server for form in forms] == ["talk"]
        assert "right" in json.loads(forms[0].schema)["properties"]
        assert "accept" in stage.model.results[0]


async def test_what_is_added_to_a_turn_reaches_the_model_before_its_end(tmp_path: Path) -> None:
    async with claude_stage(tmp_path, [shell("touch made"), say("one"), say("two")]) as stage:
        conversation = stage.converse()
        events: list[EngineEvent] = []
        async for event in conversation.turn("Please do as the script says."):
            events.append(event)
            if isinstance(event, Permission):
                await conversation.steer("And mind the ZEBRA.")
                await conversation.answer(event.request_id, Reply(verdict="accept"))
        assert ended(events).status == "completed"
        assert "ZEBRA" in json.dumps(stage.model.conversation)
        assert ended(await heard(conversation, "More.")).status == "completed"
        await conversation.aclose()


async def test_what_a_conversation_costs_is_summed_up_over_its_turns(tmp_path: Path) -> None:
    async with claude_stage(tmp_path, [say("one"), say("two")]) as stage:
        conversation = stage.converse()
        events = await heard(conversation) + await heard(conversation, "More.")
        await conversation.aclose()
        told = [event for event in events if isinstance(event, TokenUsage)]
        assert [use.output_tokens for use in told] == [20, 40]
        costs = [use.cost_usd or 0 for use in told]
        assert 0 < costs[0] < costs[1]
