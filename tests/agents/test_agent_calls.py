"""A call of an agent: what it may say, what it starts, and what it answers."""

import asyncio
import contextlib
import os
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agents.ground import AgentBoard, HeardChannel, an_agent, board, text_of
from fakes.engines import Fails, Hangs, Runs, Says, ScriptedEngine
from support.processes import until_true
from support.requirements import requirement
from switchboard.core.faults import FaultCode
from switchboard.core.sessions import Session
from switchboard.engines.engine import Readiness
from switchboard.engines.events import FailureKind
from switchboard.engines.profile import AttachedServer, RunFields
from switchboard.providers.agents.calls.answers import RUN_KEY, fault_text
from switchboard.providers.agents.work.conversation_folders import ConversationFolders


@requirement("S0.08", "S0.50", "S0.115")
async def test_a_call_answers_with_ok_and_output_and_nothing_else(home: Path) -> None:
    async with board(home, Says("two bugs")) as desk:
        outcome = await desk.outcome("reviewer", {"task": "look", "cwd": str(home)})
        assert text_of(outcome) == {"ok": True, "output": "two bugs"}
        assert outcome.structured is None
        assert not outcome.is_error
        assert desk.conversation.tasks == ["look"]
        assert desk.conversation.spec.cwd == str(home)


async def test_programs_are_told_of_the_run_beside_the_answer(home: Path) -> None:
    async with board(home, Says("done")) as desk:
        outcome = await desk.outcome("reviewer", {"task": "look", "cwd": str(home)})
        told = outcome.meta[RUN_KEY]
        assert told["id"] == desk.run.id
        assert told["state"] == "completed"
        assert told["usage"]["input_tokens"] == 10
        assert "cost_usd" not in told


@requirement("S0.09", "S0.11")
@pytest.mark.parametrize("kind", ["model-refused", "quota-exceeded", "context-overflow"])
async def test_a_failed_run_keeps_the_shape_and_says_what_to_do(
    home: Path, kind: FailureKind
) -> None:
    async with board(home, Fails(kind)) as desk:
        outcome = await desk.outcome("reviewer", {"task": "look", "cwd": str(home)})
        answer = text_of(outcome)
        assert set(answer) == {"ok", "output"}
        assert answer["ok"] is False
        assert outcome.is_error
        assert kind not in answer["output"]
        assert len(answer["output"]) > 20


async def test_a_missing_engine_is_told_in_its_own_words(home: Path) -> None:
    readiness = Readiness(problem="Codex was not found", hint="npm install -g codex")
    engine = ScriptedEngine(Says("no"), readiness=readiness)
    environ = {"PATH": "/usr/bin:/bin", "PASSED": "on"}
    desk = AgentBoard(home, engine=engine, environ=environ, pass_env=("PASSED",))
    answer = await desk.ask_agent()
    assert answer == {"ok": False, "output": "Codex was not found; npm install -g codex"}
    # It is asked in the environment that it was to work in.
    assert engine.asked_with == desk.conversation.spec.env
    assert engine.asked_with["PASSED"] == "on"
    await desk.aclose()


@requirement("S0.04", "S0.05", "S0.07")
@pytest.mark.parametrize(
    "arguments",
    [
        {"cwd": "/"},
        {"task": 7, "cwd": "/"},
        {"task": "look"},
        {"task": "look", "cwd": 7},
        {"task": "look", "cwd": "/", "model": "gpt-5"},
    ],
)
async def test_wrong_arguments_fail_and_run_nothing(home: Path, arguments: Any) -> None:
    async with board(home, Says("no")) as desk:
        fault = await desk.refusal("reviewer", arguments)
        assert fault.code is FaultCode.INVALID_ARGUMENT
        assert '"ok":false' in fault_text(fault)
        assert not desk.runs.runs


@requirement("S0.06")
@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("relative/folder", "cwd-not-absolute"),
        ("{home}/missing", "cwd-missing"),
        ("{home}/file", "cwd-not-a-folder"),
        ("{home}/dangling", "cwd-missing"),
        ("{home}\0", "cwd-not-absolute"),
    ],
)
async def test_a_folder_that_nobody_can_work_in_is_refused(
    home: Path, place: str, reason: str
) -> None:
    (home / "file").touch()
    (home / "dangling").symlink_to(home / "nowhere")
    async with board(home, Says("no")) as desk:
        cwd = place.format(home=home)
        fault = await desk.refusal("reviewer", {"task": "look", "cwd": cwd})
        assert fault.reason == reason
        assert str(home) not in fault.message
        assert not desk.runs.runs


async def test_links_to_the_folder_are_followed(home: Path) -> None:
    (home / "real").mkdir()
    (home / "link").symlink_to(home / "real")
    async with board(home, Says("done")) as desk:
        await desk.outcome("reviewer", {"task": "look", "cwd": str(home / "link")})
        assert desk.conversation.spec.cwd == str(home / "real")


async def test_a_pinned_session_stays_in_its_project(home: Path) -> None:
    project, elsewhere = home / "project", home / "elsewhere"
    (project / "part").mkdir(parents=True)
    elsewhere.mkdir()
    (project / "out").symlink_to(elsewhere)
    async with board(home, Says("done"), root=str(project)) as desk:
        await desk.outcome("reviewer", {"task": "look", "cwd": str(project / "part")})
        for outside in (elsewhere, project / "out", home):
            fault = await desk.refusal("reviewer", {"task": "look", "cwd": str(outside)})
            assert fault.reason == "cwd-outside-project"
        assert len(desk.runs.runs) == 1


async def test_a_registered_worktree_belongs_to_the_project(home: Path) -> None:
    project, tree, forged = home / "project", home / "tree", home / "forged"
    for name, folder in (("tree", tree), ("forged", forged)):
        registered = project / ".git" / "worktrees" / name
        registered.mkdir(parents=True)
        folder.mkdir()
        (registered / "gitdir").write_text(f"{folder}/.git\n")
        (folder / ".git").write_text(f"gitdir: {registered}\n")
    (forged / ".git").write_text("gitdir: /elsewhere\n")
    async with board(home, Says("done"), root=str(project)) as desk:
        await desk.outcome("reviewer", {"task": "look", "cwd": str(tree)})
        fault = await desk.refusal("reviewer", {"task": "look", "cwd": str(forged)})
        assert fault.reason == "cwd-outside-project"


async def test_a_project_cannot_name_the_repository_of_another_as_its_own(home: Path) -> None:
    project, other, tree = home / "project", home / "other", home / "tree"
    registered = other / ".git" / "worktrees" / "tree"
    for folder in (project, registered, tree):
        folder.mkdir(parents=True)
    (registered / "gitdir").write_text(f"{tree}/.git\n")
    (tree / ".git").write_text(f"gitdir: {registered}\n")
    async with board(home, Says("done"), root=str(project)) as desk:
        (project / ".git").write_text(f"gitdir: {registered}\n")
        for outside in (other, tree):
            fault = await desk.refusal("reviewer", {"task": "look", "cwd": str(outside)})
            assert fault.reason == "cwd-outside-project"
        (project / ".git").unlink()
        (project / ".git").symlink_to(other / ".git")
        fault = await desk.refusal("reviewer", {"task": "look", "cwd": str(tree)})
        assert fault.reason == "cwd-outside-project"
    async with board(home, Says("done"), root=str(tree)) as desk:
        await desk.outcome("reviewer", {"task": "look", "cwd": str(other)})


async def test_a_pipe_in_the_place_of_a_file_of_git_holds_nobody_up(home: Path) -> None:
    project = home / "project"
    registered = project / ".git" / "worktrees" / "tree"
    registered.mkdir(parents=True)
    os.mkfifo(registered / "gitdir")
    async with board(home, Says("done"), root=str(project)) as desk:
        fault = await desk.refusal("reviewer", {"task": "look", "cwd": str(home)})
        assert fault.reason == "cwd-outside-project"


async def test_a_folder_that_became_a_link_since_is_not_worked_in(home: Path) -> None:
    part, elsewhere = home / "part", home / "elsewhere"
    part.mkdir()
    elsewhere.mkdir()
    async with board(home, Says("done")) as desk:
        await desk.outcome("reviewer", {"task": "look", "cwd": str(part)})
        run_id = desk.run.id
        part.rmdir()
        part.symlink_to(elsewhere)
        outcome = await desk.outcome("run_reply", {"run_id": run_id, "task": "more"})
        assert outcome.is_error
        assert len(desk.engine.conversations) == 1


async def test_servers_start_where_nobody_else_wrote(home: Path) -> None:
    own = AttachedServer(name="own", command="python3", args=("-m", "memory"))
    theirs = AttachedServer(name="theirs", command="./server", start_in="/workspace")
    async with board(home, Says("done"), servers=(own, theirs)) as desk:
        await desk.ask_agent()
        spec = desk.conversation.spec
        places = {server.name: server.start_in for server in spec.profile.servers}
        assert places == {"own": f"{spec.folder}/start", "theirs": "/workspace"}
        assert is_private(Path(places["own"]))


@requirement("S0.12", "S0.14", "S0.15", "S0.119")
async def test_the_engine_is_told_what_the_agent_sets_and_no_more(home: Path) -> None:
    agent = an_agent(fields=RunFields(model_verbosity="low"))
    desk = AgentBoard(home, agent, engine=ScriptedEngine(Says("done")))
    await desk.ask_agent()
    assert desk.conversation.spec.profile.fields == RunFields(model_verbosity="low")
    await desk.aclose()


@requirement("S0.13", "S0.114")
async def test_each_agent_has_a_profile_of_its_own_name(home: Path) -> None:
    desk = AgentBoard(home, an_agent("one"), an_agent("two"), engine=ScriptedEngine(Says("done")))
    await desk.ask_agent(tool="one")
    await desk.ask_agent(tool="two")
    names = [each.spec.profile.name for each in desk.engine.conversations]
    assert names == ["one", "two"]
    await desk.aclose()


async def test_an_engine_sees_little_of_the_environment_and_how_deep_it_is(home: Path) -> None:
    environ = {"PATH": "/bin", "OPENAI_API_KEY": "k", "AWS_SECRET_ACCESS_KEY": "s", "MINE": "m"}
    server = AttachedServer(name="s", command="server")
    async with board(home, Says("done"), environ=environ, depth=1, servers=(server,)) as desk:
        await desk.ask_agent()
        spec = desk.conversation.spec
        assert spec.env == {"PATH": "/bin", "OPENAI_API_KEY": "k", "SWITCHBOARD_DEPTH": "2"}
        assert spec.profile.servers[0].env == {"SWITCHBOARD_DEPTH": "2"}
        assert Path(spec.folder).is_relative_to(home)
        assert is_private(Path(spec.folder))


def is_private(folder: Path) -> bool:
    return folder.stat().st_mode & 0o077 == 0


async def test_agents_that_call_each_other_are_stopped(home: Path) -> None:
    async with board(home, Says("done"), depth=5) as desk:
        fault = await desk.refusal("reviewer", {"task": "look", "cwd": str(home)})
        assert fault.reason == "agents-too-deep"
        assert not desk.runs.runs


# Patience


async def test_a_run_that_takes_longer_goes_on_and_the_client_is_told_what_to_call(
    home: Path,
) -> None:
    async with board(home, Hangs(), patience=1) as desk:
        outcome = await desk.outcome("reviewer", {"task": "look", "cwd": str(home)})
        answer = text_of(outcome)
        assert answer["ok"] is True
        assert not outcome.is_error
        assert desk.run.id in answer["output"]
        assert "run_wait" in answer["output"]
        assert outcome.meta[RUN_KEY]["next"]["tool"] == "run_wait"
        assert not desk.run.has_ended
        assert not desk.run.is_delivered


async def test_the_client_says_how_long_it_waits(home: Path) -> None:
    async with board(home, Hangs(), patience=60) as desk:
        cwd = str(home)
        outcome = await desk.outcome("reviewer", {"task": "x", "cwd": cwd}, client_timeout_s=2.0)
        assert text_of(outcome)["ok"] is True


async def test_a_client_hears_what_the_agent_does(home: Path) -> None:
    channel = HeardChannel()
    async with board(home, Runs("touch a"), Says("done")) as desk:
        await desk.ask_agent(channel=channel)
        assert "runs touch a" in [message for _, message in channel.told]
        counts = [count for count, _ in channel.told]
        assert counts == sorted(set(counts))


# Once, and only once


async def test_a_request_that_is_sent_again_finds_its_run(home: Path) -> None:
    async with board(home, Hangs(), patience=1) as desk:
        first = await desk.ask_agent()
        again = await desk.ask_agent()
        assert first == again
        assert len(desk.runs.runs) == 1


async def test_after_delivery_a_repeat_is_a_new_run(home: Path) -> None:
    async with board(home, Says("done")) as desk:
        await desk.ask_agent()
        await desk.ask_agent()
        assert len(desk.runs.runs) == 2


async def test_another_session_or_task_is_another_run(home: Path) -> None:
    other = Session(id="other", via="stdio", workspace="/workspace")
    async with board(home, Hangs(), patience=1) as desk:
        calls = [desk.begin(), desk.begin("else"), desk.begin(session=other)]
        await asyncio.gather(*calls)
        assert len(desk.runs.runs) == 3


# Clients that leave


async def test_a_cancelled_call_ends_a_run_that_nobody_knows_of(home: Path) -> None:
    async with board(home, Hangs()) as desk:
        call = desk.begin()
        await desk.until_working()
        call.cancel()
        await until_true(lambda: desk.run.state == "cancelled")
        # Sent again it is done, not told of.
        await until_true(lambda: desk.run.is_delivered)


async def test_a_run_whose_id_was_told_goes_on_without_its_client(home: Path) -> None:
    async with board(home, Hangs(), patience=1) as desk:
        await desk.ask_agent()
        waiting = asyncio.ensure_future(desk.road(desk.a_call("run_wait", {"run_id": desk.run.id})))
        await until_true(lambda: bool(desk.waiters.of(desk.run.id)))
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert not desk.run.has_ended
        assert not desk.runs.cancelled


async def test_a_call_that_is_cancelled_leaves_a_run_that_another_waits_for(home: Path) -> None:
    async with board(home, Hangs()) as desk:
        first, second = desk.begin(), desk.begin()
        await desk.until_working()
        await until_true(lambda: len(desk.waiters.of(desk.run.id)) == 2)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        assert not desk.runs.cancelled
        second.cancel()
        await until_true(lambda: desk.run.state == "cancelled")


# Folders, and runs that are taken up again


async def test_folders_of_runs_that_are_forgotten_go_and_young_ones_stay(home: Path) -> None:
    folders = ConversationFolders(str(home))
    for name in ("known", "forgotten", "young"):
        made = folders.make(name)
        if name != "young":
            os.utime(made, (1, 1))
    folders.sweep({"known"})
    assert left_in(home / "conversations") == ["known", "young"]


def left_in(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


@pytest.mark.parametrize("on_crash", ["resume", "retry"])
async def test_a_run_is_taken_up_as_its_agent_says(home: Path, on_crash: Any) -> None:
    async with board(home, Says("done")) as desk:
        await desk.ask_agent()
        run = desk.run
        [worker] = desk.runs.workers
        again = replace(run, spec=replace(run.spec, on_crash=on_crash), attempts=2, state="working")
        work = worker.work(again, lambda _: contextlib.nullcontext())
        assert [each async for each in work.events()]
        await work.aclose()
        goes_on = on_crash == "resume"
        assert desk.conversation.spec.resume == (run.thread_id if goes_on else "")
        assert (desk.conversation.tasks == ["look"]) is not goes_on
