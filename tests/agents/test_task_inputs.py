"""What a run asks after its task was handed out: found in the task, answered by `tasks/update`."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agents.ground import board
from agents.task_client import EXTENSION, TaskClient, said
from fakes.calls import a_session
from fakes.engines import Hangs, Runs, Says
from support.mcp_stdio import META, Json
from support.processes import until_true
from support.reading import read_it, reply
from switchboard.engines.events import Form

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}}


def a_form(number: int = 1) -> Form:
    return Form(
        request_id=f"f{number}", server="files", message="Which?", schema=json.dumps(SCHEMA)
    )


async def asked(client: TaskClient) -> tuple[str, Json]:
    """Wait until the task asks one thing; give its key and the request."""
    async with asyncio.timeout(10):
        while (task := await client.get())["status"] != "input_required":
            await client.desk.runs.wait(client.desk.run.id, within_s=0.01)
    [(key, request)] = task["inputRequests"].items()
    assert request["method"] == "elicitation/create"
    await read_it()
    return key, request["params"]


@pytest.mark.parametrize(("decision", "is_made"), [("allow_once", True), ("deny", False)])
async def test_an_approval_is_asked_and_given_through_the_task(
    home: Path, decision: str, is_made: bool
) -> None:
    async with board(home, Runs("touch a", asks=True), Says("done")) as desk:
        client = TaskClient(desk, shows_forms=True)
        task = await client.call()
        assert task["resultType"] == "task"
        assert task["status"] == "input_required"
        assert "inputRequests" not in task
        key, params = await asked(client)
        assert "touch a" in params["message"]
        assert desk.run.approval_id in key
        assert f"switchboard approvals show {desk.run.approval_id}" in task["statusMessage"]
        answer = await client.update({key: reply(decision)})
        assert set(answer) == {"resultType", "_meta"}
        await until_true(lambda: desk.run.has_ended)
        assert (home / "a").exists() is is_made
        found = await client.get()
        assert found["status"] == "completed"
        assert "inputRequests" not in found
        assert said(found["result"]) == {"ok": True, "output": "done"}


async def test_an_answer_at_the_queue_ends_the_question_in_the_task(home: Path) -> None:
    async with board(home, Runs("touch a", asks=True), Hangs()) as desk:
        client = TaskClient(desk, shows_forms=True)
        await client.call()
        key, _ = await asked(client)
        await desk.decide(await desk.until_asked())
        await until_true((home / "a").exists)
        await until_true(lambda: desk.run.state == "working")
        found = await client.get()
        assert found["status"] == "working"
        assert "inputRequests" not in found
        # Too late, and nobody minds.
        assert (await client.update({key: reply("deny")}))["resultType"] == "complete"
        assert desk.run.state == "working"


async def test_forms_are_filled_in_through_the_task_each_under_a_key_of_its_own(
    home: Path,
) -> None:
    async with board(home, a_form(1), a_form(2), Says("done")) as desk:
        client = TaskClient(desk, shows_forms=True)
        await client.call()
        first, params = await asked(client)
        assert params["requestedSchema"] == SCHEMA
        assert "files of agent reviewer" in params["message"]
        filled = {"action": "accept", "content": {"name": "x"}}
        await client.update({"unknown": {"action": "decline"}})
        assert (await asked(client))[0] == first
        await client.update({first: filled})
        await until_true(lambda: "f1" in desk.conversation.replies)
        second, _ = await asked(client)
        assert second != first
        await client.update({first: {"action": "decline"}})
        assert (await asked(client))[0] == second
        await client.update({second: {"action": "decline"}})
        await until_true(lambda: desk.run.has_ended)
        replies = desk.conversation.replies
        assert (replies["f1"].verdict, replies["f1"].content) == ("accept", {"name": "x"})
        assert replies["f2"].verdict == "decline"


async def test_a_client_that_shows_no_forms_is_told_who_else_can_decide(home: Path) -> None:
    async with board(home, Runs("touch a", asks=True), Says("done")) as desk:
        client = TaskClient(desk)
        await client.call()
        posted = await desk.until_asked()
        found = await client.get()
        assert found["status"] == "working"
        assert "inputRequests" not in found
        assert f"switchboard approvals show {posted.question.id}" in found["statusMessage"]


async def test_a_cancelled_task_asks_no_more(home: Path) -> None:
    async with board(home, Runs("touch a", asks=True), Says("done")) as desk:
        client = TaskClient(desk, shows_forms=True)
        await client.call()
        key, _ = await asked(client)
        await client.ask("tasks/cancel", {"taskId": desk.run.id})
        assert desk.run.state == "cancelled"
        found = await client.get()
        assert found["status"] == "cancelled"
        assert "inputRequests" not in found
        await client.update({key: reply("allow_once")})
        assert not (home / "a").exists()
        assert desk.waiters.of(desk.run.id) == ()


# Notifications


@asynccontextmanager
async def listening(client: TaskClient, *task_ids: str) -> AsyncGenerator[None]:
    wanted = {"notifications": {"taskIds": list(task_ids)}}
    task = asyncio.ensure_future(client.begin("subscriptions/listen", wanted, 9))
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def test_a_client_that_listens_is_told_what_becomes_of_its_task(home: Path) -> None:
    async with board(home, Runs("touch a", asks=True), Says("done")) as desk:
        client = TaskClient(desk, shows_forms=True)
        run_id = (await client.call())["taskId"]
        async with listening(client, run_id, "r-nothing", run_id):
            await until_true(lambda: bool(_told(client)))
            [(method, params), *_] = client.told
            assert method == "notifications/subscriptions/acknowledged"
            assert params["notifications"] == {"taskIds": [run_id]}
            first = _told(client)[0]
            assert first["status"] == "input_required"
            [key] = first["inputRequests"]
            await read_it()
            await client.update({key: reply("allow_once")})
            await until_true(lambda: _told(client)[-1]["status"] == "completed")
        last = _told(client)[-1]
        about = last.pop("_meta")
        assert about == {META + "subscriptionId": 9}
        found = await client.get()
        del found["_meta"], found["resultType"]
        assert last == found
        assert said(last["result"]) == {"ok": True, "output": "done"}
        statuses = [each["status"] for each in _told(client)]
        assert "working" in statuses
        # Each differs from the one before.
        assert all(one != two for one, two in zip(_told(client), _told(client)[1:], strict=False))


async def test_nobody_is_told_of_the_tasks_of_another(home: Path) -> None:
    async with board(home, Hangs()) as desk:
        run_id = (await TaskClient(desk).call())["taskId"]
        stranger = TaskClient(desk, session=a_session("t"))
        async with listening(stranger, run_id):
            await until_true(lambda: bool(stranger.told))
            [(_, params)] = stranger.told
            assert params["notifications"] == {}


async def test_only_clients_that_take_tasks_may_listen_for_them(home: Path) -> None:
    async with board(home, Hangs()) as desk:
        client = TaskClient(desk, takes_tasks=False)
        wanted = {"notifications": {"taskIds": ["r-1"]}}
        refusal = await client.refusal("subscriptions/listen", wanted)
        assert refusal.code == -32021
        assert refusal.data["requiredCapabilities"] == {"extensions": {EXTENSION: {}}}


def _told(client: TaskClient) -> list[Any]:
    return [params for method, params in client.told if method == "notifications/tasks"]
