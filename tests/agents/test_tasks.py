"""Calls of agents by a client that takes tasks: asked as a client asks, with the engine played."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agents.ground import AgentBoard, board
from agents.lab import Lab
from fakes.calls import a_session
from fakes.endpoints import Visitor
from fakes.engines import Fails, Hangs, Runs, Says
from support.mcp_stdio import META, Json
from support.processes import until_true
from switchboard.core.board import Board
from switchboard.core.bus import EventBus
from switchboard.core.catalog import Catalog
from switchboard.daemon.board.lease import CurrentBoard
from switchboard.daemon.board.runtime import running
from switchboard.providers.agents.provider import AgentsProvider
from switchboard.surface.endpoint import Endpoint

EXTENSION = "io.modelcontextprotocol/tasks"


class TaskClient(Visitor):
    """A modern client of agents. It takes tasks unless it is told not to."""

    def __init__(self, desk: AgentBoard, *, takes_tasks: bool = True) -> None:
        super().__init__()
        self.desk = desk
        board = Board(
            catalog=Catalog(desk.specs.values()), pipeline=desk.road, tasks=lambda: desk.provider
        )
        self.endpoint = Endpoint(
            CurrentBoard(board), a_session("s"), sink=self, instructions=lambda: ""
        )
        self.be_modern()
        assert self.meta is not None
        if takes_tasks:
            self.meta[META + "clientCapabilities"] = {"extensions": {EXTENSION: {}}}

    async def call(self, task: str = "look") -> Json:
        arguments = {"task": task, "cwd": str(self.desk.home)}
        return await self.ask("tools/call", {"name": "reviewer", "arguments": arguments})

    async def get(self) -> Json:
        return await self.ask("tasks/get", {"taskId": self.desk.run.id})


def said(result: Json) -> Any:
    [block] = result["content"]
    return json.loads(block["text"])


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
        assert desk.run.is_delivered


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
        answers = {"taskId": desk.run.id, "inputResponses": {"x": {"action": "accept"}}}
        assert (await client.ask("tasks/update", answers))["resultType"] == "complete"
        assert desk.run.state == "working"


@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
async def test_a_run_of_another_workspace_is_as_unknown_as_none(home: Path, method: str) -> None:
    async with (
        board(home, Hangs()) as desk,
        board(home, runs=desk.runs, workspace="/elsewhere") as other,
    ):
        await TaskClient(desk).call()
        stranger = TaskClient(other)
        foreign = await stranger.refusal(method, {"taskId": desk.run.id})
        unknown = await stranger.refusal(method, {"taskId": "r-nothing"})
        assert foreign.code == unknown.code == -32602
        assert foreign.message.replace(desk.run.id, "r-nothing") == unknown.message
        assert not desk.run.has_ended
        assert (await stranger.refusal(method, {})).code == -32602


async def test_the_same_call_again_finds_its_task(home: Path) -> None:
    async with board(home, Hangs()) as desk:
        client = TaskClient(desk)
        first, second = await client.call(), await client.call()
        assert first["taskId"] == second["taskId"]


async def test_a_form_is_answered_in_the_call_before_it_becomes_a_task(home: Path) -> None:
    async with board(home, Runs("touch a", asks=True), Says("done")) as desk:
        client = TaskClient(desk)
        assert client.meta is not None
        client.meta[META + "clientCapabilities"]["elicitation"] = {"form": {}}
        asked = await client.call()
        assert asked["resultType"] == "input_required"
        [key] = asked["inputRequests"]
        # Longer than the moment after which a call becomes a task.
        assert (await desk.runs.wait(desk.run.id, within_s=1.5)).state == "asking"
        form = asked["inputRequests"][key]["params"]["requestedSchema"]["properties"]
        content = {name: each["enum"][0] for name, each in form.items() if "enum" in each}
        answer = await client.ask(
            "tools/call",
            {
                "name": "reviewer",
                "arguments": {"task": "look", "cwd": str(home)},
                "requestState": asked["requestState"],
                "inputResponses": {key: {"action": "accept", "content": content}},
            },
        )
        assert answer["resultType"] == "complete"
        assert said(answer) == {"ok": True, "output": "done"}


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
