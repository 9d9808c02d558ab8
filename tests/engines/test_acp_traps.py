"""What could go wrong around agents that speak ACP, and does not. opencode is the real one."""

import json
import sys
from pathlib import Path

import pytest

from engines.contract import ended, heard
from engines.opencode_stage import SECRET, opencode_stage
from support.models.script import say, shell, use
from support.processes import descendants_of, mentioning
from support.workspace import child_command
from switchboard.core.faults import Fault
from switchboard.engines.acp.agents import agent_named, followed_settings, permissions_for
from switchboard.engines.acp.engine import AcpEngine
from switchboard.engines.engine import Reply
from switchboard.engines.events import EngineEvent, Permission
from switchboard.engines.profile import AgentProfile, AttachedServer, RunFields

pytestmark = pytest.mark.timeout(300)


def _environ(pid: int) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()


def _echoes(pid: int) -> list[int]:
    mine = set(descendants_of(pid))
    return [other for other in mentioning("echo_child") if other in mine]


@pytest.mark.parametrize("place", [".opencode", "above/.opencode", "opencode.json"])
async def test_a_repository_that_would_run_programs_is_refused_until_it_is_trusted(
    tmp_path: Path, place: str
) -> None:
    async with opencode_stage(tmp_path, [say("done")]) as stage:
        cwd = stage.cwd / "above" / "inner" if place.startswith("above") else stage.cwd
        cwd.mkdir(parents=True, exist_ok=True)
        ran = stage.cwd / "ran"
        if place.endswith("json"):
            server = {"type": "local", "command": ["touch", str(ran)], "enabled": True}
            (stage.cwd / place).write_text(json.dumps({"mcp": {"evil": server}}), "utf-8")
        else:
            plugins = stage.cwd / place / "plugin"
            plugins.mkdir(parents=True)
            touch = f'require("fs").writeFileSync({json.dumps(str(ran))}, "")'
            (plugins / "evil.js").write_text(f"{touch}\nexport const Evil = async () => ({{}})\n")
        conversation = stage.converse(cwd=str(cwd))
        last = ended(await heard(conversation))
        await conversation.aclose()
        assert last.failure is not None
        assert last.failure.kind == "workspace-untrusted"
        assert not ran.exists()
        assert stage.model.requests == []


async def test_neither_shells_nor_servers_of_opencode_see_a_secret(tmp_path: Path) -> None:
    dump = f"{sys.executable} -c 'import os; print(sorted(os.environ))'"
    command, *args = child_command("echo_child", "echo")
    server = AttachedServer(
        name="echo", command=command, args=tuple(args), env={"OWN_TOKEN": "own-4718"}
    )
    profile = AgentProfile(
        name="tester",
        fields=RunFields(approval_policy="untrusted", model="mock-model"),
        developer_instructions="Mind the ZEBRA.",
        servers=(server,),
    )
    steps = [shell(dump, description="look"), use("echo_echo", text="hello"), say("done")]
    async with opencode_stage(tmp_path, steps) as stage:
        (stage.cwd / "AGENTS.md").write_text("HOSTILE", "utf-8")
        env = {**stage.env, "OF_A_PROVIDER": "unseen"}
        conversation = stage.converse(profile=profile, env=env)
        held: list[bytes] = []
        events: list[EngineEvent] = []
        async for event in conversation.turn("Please do as the script says."):
            events.append(event)
            if isinstance(event, Permission):
                held += [_environ(pid) for pid in _echoes(conversation.pid)]
                await conversation.answer(event.request_id, Reply(verdict="accept"))
        await conversation.aclose()
        assert ended(events).text == "done"
        assert "LOOPBACK_API_KEY" not in stage.model.results[0]
        assert "OF_A_PROVIDER" not in stage.model.results[0]
        assert "'PATH'" in stage.model.results[0]
        assert held
        assert all(b"OWN_TOKEN=own-4718" in each for each in held)
        assert not any(SECRET.encode() in each for each in held)
        said = json.dumps([request.body for request in stage.model.requests])
        assert "ZEBRA" in said
        assert "HOSTILE" not in said


async def test_a_model_that_the_agent_does_not_offer_is_named(tmp_path: Path) -> None:
    async with opencode_stage(tmp_path, [say("done")]) as stage:
        profile = AgentProfile(name="tester", fields=RunFields(model="model-4719"))
        conversation = stage.converse(profile=profile)
        last = ended(await heard(conversation))
        await conversation.aclose()
        assert last.failure is not None
        assert last.failure.kind == "model-unknown"


async def test_a_model_server_that_is_not_there_is_given_up_before_opencode_gives_up(
    tmp_path: Path,
) -> None:
    async with opencode_stage(tmp_path) as stage:
        # Nobody listens on port 9 of loopback.
        settings = stage.env["OPENCODE_CONFIG_CONTENT"].replace(
            stage.model.url, "http://127.0.0.1:9"
        )
        conversation = stage.converse(env={**stage.env, "OPENCODE_CONFIG_CONTENT": settings})
        last = ended(await heard(conversation))
        await conversation.aclose()
        assert last.failure is not None
        assert last.failure.kind == "model-unreachable"
        # By itself it would try three times more, and say at last that it cannot.
        assert last.failure.private.count("timestamp=") >= 3
        assert "message=process" not in last.failure.private


async def test_a_later_conversation_goes_on_where_an_earlier_one_ended(tmp_path: Path) -> None:
    async with opencode_stage(tmp_path, [say("one"), say("two")]) as stage:
        first = stage.converse()
        await heard(first, "The word is ZEBRA.")
        await first.aclose()
        second = stage.converse(resume=first.thread_id)
        assert ended(await heard(second, "Which word?")).text == "two"
        assert second.thread_id == first.thread_id
        assert "ZEBRA" in json.dumps(stage.model.conversation)
        await second.aclose()


async def test_an_agent_that_is_missing_or_unknown_is_named(tmp_path: Path) -> None:
    missing = await AcpEngine("opencode").ready({"PATH": str(tmp_path)})
    assert "not found" in missing.problem
    assert "opencode-ai" in missing.hint
    with pytest.raises(Fault, match="acp:nobody"):
        AcpEngine("nobody")
    assert AcpEngine("mine", "/bin/mine", args=("--acp",)).key == "acp:mine"


def test_settings_of_the_users_own_home_are_no_reason_to_refuse(tmp_path: Path) -> None:
    agent = agent_named("opencode")
    assert agent is not None
    (tmp_path / ".opencode").mkdir()
    cwd = tmp_path / "work"
    cwd.mkdir()
    assert followed_settings(agent, str(cwd), str(tmp_path)) == ""
    (cwd / "opencode.jsonc").symlink_to("/nonexistent")
    assert followed_settings(agent, str(cwd), str(tmp_path)).endswith("opencode.jsonc")


def test_what_opencode_may_do_unasked_follows_from_what_the_agent_set() -> None:
    assert permissions_for(RunFields()) == {}
    assert permissions_for(RunFields(sandbox_mode="read-only"))["edit"] == "deny"
    writing = RunFields(sandbox_mode="workspace-write", approval_policy="on-request")
    assert permissions_for(writing)["edit"] == "allow"
    assert permissions_for(writing)["bash"] == "ask"
    never = RunFields(sandbox_mode="workspace-write", approval_policy="never")
    assert permissions_for(never)["bash"] == "deny"
    everything = RunFields(sandbox_mode="danger-full-access", approval_policy="never")
    assert set(permissions_for(everything).values()) == {"allow"}
