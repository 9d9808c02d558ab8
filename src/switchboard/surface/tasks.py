"""Calls that are answered later: the requests of the tasks extension of the modern era."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from msgspec import Raw

from switchboard.core.board import Board
from switchboard.core.calls.task import Task
from switchboard.core.faults import Fault
from switchboard.core.loop.tasks import TaskSet
from switchboard.core.ports import Boards, TaskProvider
from switchboard.core.sessions import Session
from switchboard.surface.client_calls import ClientCalls
from switchboard.surface.known_client import KnownClient
from switchboard.surface.params import Meta, Params
from switchboard.surface.results import error_from_fault, task_parts
from switchboard.surface.sink import Sink
from switchboard.surface.task_words import check_takes_tasks, task_members
from switchboard.wire.messages import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MessageId,
    Parts,
    RpcError,
    encode,
)

# How many tasks one subscription follows.
_MOST_FOLLOWED = 256

# Tells a client all there is to tell of a task, and then us that the client has it.
Tell = Callable[[dict[str, Any], Callable[[], None] | None], None]


class ClientTasks:
    """The tasks of one client. Those of others are as unknown to it as those that never were."""

    def __init__(self, boards: Boards, client: KnownClient, calls: ClientCalls) -> None:
        self._boards = boards
        self._client = client
        self._calls = calls

    async def answer(
        self, method: str, params: Params, meta: Meta, sink: Sink, message_id: MessageId
    ) -> Parts:
        """Answer a request about a task. Raises RpcError."""
        session = self._client.session
        with self._boards.lease() as board:
            tasks = _offered(board, method)
            check_takes_tasks(session, f"`{method}`")
            if not isinstance(params.task_id, str):
                raise RpcError(INVALID_PARAMS, "`taskId` is missing")
            channel = self._client.channel(meta, sink, request_id=message_id)
            if method == "tasks/get":
                task = await _found(tasks, params.task_id, session)
                if task.outcome is not None and task.outcome.on_delivered is not None:
                    channel.when_answered(task.outcome.on_delivered)
                return task_parts(task_members(task))
            given: dict[str, Any] = {"taskId": params.task_id}
            if method == "tasks/update":
                if params.input_responses is None:
                    raise RpcError(INVALID_PARAMS, "`inputResponses` is missing")
                given["inputResponses"] = params.input_responses
            await self._calls.act(board, tasks.task_act(method), Raw(encode(given)), channel)
            return task_parts({})

    @asynccontextmanager
    async def followed(self, task_ids: Sequence[str], tell: Tell) -> AsyncGenerator[list[str]]:
        """Tell how tasks are, and each change, while the block lasts. Gives those it is told of.

        Raises RpcError.
        """
        if not task_ids:
            yield []
            return
        session = self._client.session
        check_takes_tasks(session, "`taskIds`")
        async with TaskSet() as tasks:
            follower = _Follower(self._boards, session, tell)
            try:
                yield await follower.follow(task_ids[:_MOST_FOLLOWED], tasks)
            finally:
                follower.close()


class _Follower:
    """Tells a client of its tasks: each once at first, and again whenever it is another."""

    def __init__(self, boards: Boards, session: Session, tell: Tell) -> None:
        self._boards = boards
        self._session = session
        self._tell = tell
        self._ends: list[Callable[[], None]] = []
        # Those that may be other than they were told of, oldest first.
        self._changed: dict[str, None] = {}
        self._news = asyncio.Event()

    async def follow(self, task_ids: Sequence[str], tasks: TaskSet) -> list[str]:
        """Begin, and give the tasks that are this client's."""
        with self._boards.lease() as board:
            provider = board.tasks() if board.tasks is not None else None
            if provider is None:
                return []
            for task_id in dict.fromkeys(task_ids):
                with suppress(Fault):
                    end = await provider.follow_task(task_id, self._session, self._noted(task_id))
                    self._ends.append(end)
                    self._changed[task_id] = None
        agreed = list(self._changed)
        self._news.set()
        tasks.start(self._run())
        return agreed

    def close(self) -> None:
        for end in self._ends:
            end()

    def _noted(self, task_id: str) -> Callable[[], None]:
        def note() -> None:
            self._changed[task_id] = None
            self._news.set()

        return note

    async def _run(self) -> None:
        told: dict[str, bytes] = {}
        while True:
            await self._news.wait()
            self._news.clear()
            while self._changed:
                task_id = next(iter(self._changed))
                del self._changed[task_id]
                # One that was forgotten, or whose agent is gone, has nothing more to tell.
                with suppress(Fault, RpcError):
                    task = await self._task(task_id)
                    members = task_members(task)
                    words = encode(members)
                    if words != told.get(task_id):
                        told[task_id] = words
                        self._tell(members, task.outcome and task.outcome.on_delivered)

    async def _task(self, task_id: str) -> Task:
        with self._boards.lease() as board:
            return await _offered(board, "taskIds").task(task_id, self._session)


def _offered(board: Board, what: str) -> TaskProvider:
    if board.tasks is None:
        raise RpcError(METHOD_NOT_FOUND, f"`{what}` is not offered")
    return board.tasks()


async def _found(tasks: TaskProvider, task_id: str, session: Session) -> Task:
    try:
        return await tasks.task(task_id, session)
    except Fault as fault:
        raise error_from_fault(fault, task_id, session.era) from fault
