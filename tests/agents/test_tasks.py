"""Calls of agents by a client that takes tasks: asked as a client asks, with the engine played."""

import asyncio
from pathlib import Path

import pytest

from agents.ground import board
from agents.lab import Lab
from agents.task_client import EXTENSION, TaskClient, said
from fakes.calls import a_session
from fakes.engines import Fails, Hangs, Runs, Says
from support.mcp_stdio import Json
from support.processes import until_true
from switchboard.audit.filter import record_in
from switchboard.audit.paths import AuditPaths
from switchboard.audit.reader import AuditReader
from switchboard.core.bus import EventBus
from switchboard.daemon.board.runtime import running
from switchboard.providers.agents.provider import AgentsProvider


async def test_a_run_that_goes_on_is_answered_as_a_task_with_its_own_id(home: Path) -> None:
    async with board(home, Runs("touch a"), Hangs()) as desk:
        client = TaskClient(desk)
        task = await client.call()
        assert task["resultType"] == "task"
        assert task["taskId"] == desk.run.id
        assert task["status"] == "working"
        assert task["statusMessage"] == "runs touch a"
        assert task["ttlMs"] == 30 * 86_400_000
        assert task["pollIntervalMs"] > 0
        assert task["createdAt"].startswith("1970-01-01T00:00:01")
        assert "content" not in task
        found = await client.get()
        assert found["resultType"] == "complete"
        assert found["status"] == "working"
        assert "result" not in found


async def test_a_run_that_ends_at_once_is_answered_as_ever(home: Path) -> None:
    async with board(home, Says("done")) as desk:
        answer = await TaskClient(desk).call()
        assert answer["resultType"] == "complete"
        assert said(answer) == {"ok": True, "output": "done"}


async def test_a_client_that_does_not_take_tasks_gets_none_and_may_not_ask(home: Path) -> None:
    async with board(home, Hangs(), patience=1) as desk:
        client = TaskClient(desk, takes_tasks=False)
        answer = await client.call()
        assert answer["resultType"] == "complete"
        assert "run_wait" in said(answer)["output"]
        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            refusal = await client.refusal(method, {"taskId": desk.run.id})
            assert refusal.code == -32021
            assert refusal.data["requiredCapabilities"] == {"extensions": {EXTENSION: {}}}
        assert not desk.run.has_ended


async def test_the_end_of_a_task_has_what_the_call_would_have_answered(home: Path) -> None:
    async with board(home, Runs("touch a", asks=True), Says("done")) as desk:
        client = TaskClient(desk)
        calling = asyncio.ensure_future(client.call())
        posted = await desk.until_asked()
        task = await calling
        assert task["status"] == "working"
        assert f"switchboard approvals show {posted.question.id}" in task["statusMessage"]
        await desk.decide(posted)
        await until_true(lambda: desk.run.has_ended)
        assert not desk.run.is_delivered
        found = await client.get()
        assert found["status"] == "completed"
        assert said(found["result"]) == {"ok": True, "output": "done"}
        assert found["result"]["_meta"]["switchboard/run"]["id"] == desk.run.id
        await until_true(lambda: desk.run.is_delivered)


async def test_a_run_that_fails_later_is_a_completed_task_with_an_error(home: Path) -> None:
    """A failed task would be an error of the protocol, which this is not."""
    async with board(home, Runs("touch a", asks=True), Fails("quota-exceeded")) as desk:
        client = TaskClient(desk)
        await client.call()
        await desk.decide(await desk.until_asked())
        await until_true(lambda: desk.run.has_ended)
        found = await client.get()
        assert found["status"] == "completed"
        assert found["result"]["isError"] is True
        assert said(found["result"])["ok"] is False


async def test_a_cancelled_task_ends_its_run_and_may_be_cancelled_again(home: Path) -> None:
    async with board(home, Hangs()) as desk:
        client = TaskClient(desk)
        await client.call()
        for _ in range(2):
            answer = await client.ask("tasks/cancel", {"taskId": desk.run.id})
            assert set(answer) == {"resultType", "_meta"}
            assert answer["resultType"] == "complete"
        assert desk.run.state == "cancelled"
        found = await client.get()
        assert found["status"] == "cancelled"
        assert "result" not in found


async def test_answers_that_nobody_asked_for_are_taken_and_change_nothing(home: Path) -> None:
    async with board(home, Hangs()) as desk:
        client = TaskClient(desk)
        await client.call()
        assert (await client.update(x={"action": "accept"}))["resultType"] == "complete"
        assert desk.run.state == "working"


@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
async def test_a_task_of_another_client_is_as_unknown_as_none(home: Path, method: str) -> None:
    async with (
        board(home, Hangs()) as desk,
        board(home, runs=desk.runs, workspace="/elsewhere") as other,
    ):
        await TaskClient(desk).call()
        over_http = TaskClient(desk, session=a_session("http", via="http"))
        for stranger in (TaskClient(other), TaskClient(desk, session=a_session("t")), over_http):
            asked: Json = {"inputResponses": {}} if method == "tasks/update" else {}
            foreign = await stranger.refusal(method, {"taskId": desk.run.id, **asked})
            unknown = await stranger.refusal(method, {"taskId": "r-nothing", **asked})
            assert foreign.code == unknown.code == -32602
            words = foreign.message.replace(desk.run.id, "r-nothing")
            assert words.rpartition("[")[0] == unknown.message.rpartition("[")[0]
            assert foreign.data["reason"] == unknown.data["reason"]
            assert (await stranger.refusal(method, {})).code == -32602
        assert not desk.run.has_ended


async def test_over_http_a_task_belongs_to_the_client_whatever_connection_it_uses(
    home: Path,
) -> None:
    async with board(home, Hangs()) as desk:
        first = TaskClient(desk, session=a_session("one", via="http"))
        await first.call()
        again = TaskClient(desk, session=a_session("two", via="http"))
        assert (await again.get())["status"] == "working"
        await again.ask("tasks/cancel", {"taskId": desk.run.id})
        assert desk.run.state == "cancelled"


async def test_what_a_client_does_to_a_task_is_written_down(home: Path) -> None:
    async with board(home, Hangs(), is_guarded=True) as desk:
        client = TaskClient(desk)
        calling = asyncio.ensure_future(client.call())
        await desk.decide(await desk.until_asked())
        await calling
        await client.get()
        await client.update(x={"action": "accept", "content": {"password": "hunter2"}})
        await client.ask("tasks/cancel", {"taskId": desk.run.id})
        await client.refusal("tasks/cancel", {"taskId": "r-nothing"})
    rows = AuditReader(AuditPaths(home)).rows()
    records = [record for row in rows if (record := record_in(row)) is not None]
    acts = [(r.tool, r.event.rpartition(".")[2], r.status) for r in records if "/" in r.tool]
    assert acts == [
        ("tasks/update", "started", ""),
        ("tasks/update", "finished", "ok"),
        ("tasks/cancel", "started", ""),
        ("tasks/cancel", "finished", "ok"),
        ("tasks/cancel", "started", ""),
        ("tasks/cancel", "finished", "not_found"),
    ]
    assert "hunter2" not in str(records)


async def test_the_tools_of_codex_are_answered_as_tasks_in_their_own_words(home: Path) -> None:
    async with board(home, Runs("touch a", asks=True), Says("two bugs")) as desk:
        client = TaskClient(desk)
        given = {"prompt": "look", "cwd": str(home)}
        task = await client.ask("tools/call", {"name": "codex", "arguments": given})
        assert task["resultType"] == "task"
        await desk.decide(await desk.until_asked())
        await until_true(lambda: desk.run.has_ended)
        result = (await client.get())["result"]
        assert result["content"] == [{"type": "text", "text": "two bugs"}]
        thread = result["structuredContent"].pop("threadId")
        assert result["structuredContent"] == {"content": "two bugs"}
        # A reply to the same run through the tools of runs has the words of those.
        reply = {"run_id": desk.run.id, "task": "more"}
        again = await client.ask("tools/call", {"name": "run_reply", "arguments": reply})
        await desk.decide(await desk.until_asked())
        await until_true(lambda: desk.runs.runs[again["taskId"]].has_ended)
        found = await client.ask("tasks/get", {"taskId": again["taskId"]})
        assert said(found["result"]) == {"ok": True, "output": "two bugs"}
        assert desk.conversation.spec.resume == thread


async def test_the_same_call_again_finds_its_task(home: Path) -> None:
    async with board(home, Hangs()) as desk:
        client = TaskClient(desk)
        first, second = await client.call(), await client.call()
        assert first["taskId"] == second["taskId"]


async def test_discovery_tells_of_tasks_where_there_are_agents(home: Path) -> None:
    async with board(home) as desk:
        found = await TaskClient(desk).ask("server/discover")
        assert found["capabilities"]["extensions"] == {EXTENSION: {}}


async def test_a_workspace_has_tasks_when_it_has_an_agent(lab: Lab) -> None:
    for has_agent in (False, True):
        if has_agent:
            lab.agent('name = "one"\ndescription = "d"\ninstructions = "i"\n')
        async with running(lab.load(), environ=lab.environ(), events=EventBus()) as runtime:
            with runtime.boards.lease() as leased:
                assert (leased.tasks is not None) is has_agent
                if leased.tasks is not None:
                    assert isinstance(leased.tasks(), AgentsProvider)
