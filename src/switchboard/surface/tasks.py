"""Calls that are answered later: the tasks extension of the modern era."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, cast

from msgspec import Raw

from switchboard.core.board import Board
from switchboard.core.calls import Outcome
from switchboard.core.faults import Fault
from switchboard.core.ports import Boards, TaskProvider
from switchboard.core.sessions import Era, Session
from switchboard.core.task import Task
from switchboard.surface.params import Params
from switchboard.surface.results import error_from_fault, outcome_parts, task_parts
from switchboard.wire.eras import MISSING_CLIENT_CAPABILITY, TASKS_EXTENSION
from switchboard.wire.messages import INVALID_PARAMS, METHOD_NOT_FOUND, Parts, RpcError

# How often it is worth asking.
_POLL_MS = 2000
_NEEDED: dict[str, Any] = {"requiredCapabilities": {"extensions": {TASKS_EXTENSION: {}}}}


def takes_tasks(session: Session) -> bool:
    """Whether this request said that it may be answered with a task."""
    extensions: Any = session.capabilities.get("extensions")
    is_named = isinstance(extensions, dict) and TASKS_EXTENSION in cast(
        "dict[str, Any]", extensions
    )
    return session.era is Era.MODERN and is_named


async def later_parts(outcome: Outcome, session: Session, board: Board) -> Parts:
    """The result of a call that became a task: its answer, or the task in which it goes on."""
    if board.tasks is not None:
        task = await board.tasks().task(outcome.task_id)
        if task.outcome is None:
            return task_parts(_members(task), is_new=True)
        # It has ended in between.
        outcome = task.outcome
    return outcome_parts(outcome, session.era)


async def answer_about_task(method: str, params: Params, session: Session, boards: Boards) -> Parts:
    """Answer a request about a task. Raises RpcError."""
    with boards.lease() as board:
        if board.tasks is None:
            raise RpcError(METHOD_NOT_FOUND, f"`{method}` is not offered")
        if not takes_tasks(session):
            message = f"`{method}` is for clients that declare `{TASKS_EXTENSION}`"
            raise RpcError(MISSING_CLIENT_CAPABILITY, message, _NEEDED)
        if not isinstance(params.task_id, str):
            raise RpcError(INVALID_PARAMS, "`taskId` is missing")
        try:
            return await _ANSWERS[method](board.tasks(), params.task_id)
        except Fault as fault:
            raise error_from_fault(fault, params.task_id, session.era) from fault


async def _get(tasks: TaskProvider, task_id: str) -> Parts:
    return task_parts(_members(await tasks.task(task_id)))


async def _update(tasks: TaskProvider, task_id: str) -> Parts:
    # No task asks through its client, so every answer is one that nobody waits for.
    await tasks.task(task_id)
    return task_parts({})


async def _cancel(tasks: TaskProvider, task_id: str) -> Parts:
    await tasks.cancel_task(task_id)
    return task_parts({})


_ANSWERS: Final[Mapping[str, Callable[[TaskProvider, str], Awaitable[Parts]]]] = {
    "tasks/get": _get,
    "tasks/update": _update,
    "tasks/cancel": _cancel,
}
TASK_METHODS: Final = frozenset(_ANSWERS)


def _members(task: Task) -> dict[str, Any]:
    """A task as the wire has it."""
    members: dict[str, Any] = {
        "taskId": task.id,
        "status": task.status,
        "createdAt": _at(task.created_at),
        "lastUpdatedAt": _at(task.updated_at),
        "ttlMs": round(task.ttl_s * 1000),
        "pollIntervalMs": _POLL_MS,
    }
    if task.message:
        members["statusMessage"] = task.message
    if task.outcome is not None:
        members["result"] = Raw(b"".join(outcome_parts(task.outcome, Era.MODERN)))
    return members


def _at(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
