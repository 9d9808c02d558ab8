"""Tasks as the wire has them: the words of the tasks extension of the modern era."""

from datetime import UTC, datetime
from typing import Any, cast

from msgspec import Raw

from switchboard.core.board import Board
from switchboard.core.calls.call import Outcome
from switchboard.core.calls.task import Task
from switchboard.core.sessions import Era, Session
from switchboard.surface.channel import ClientChannel
from switchboard.surface.results import outcome_parts, task_parts
from switchboard.wire.eras import MISSING_CLIENT_CAPABILITY, TASKS_EXTENSION
from switchboard.wire.messages import Parts, RpcError

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


def check_takes_tasks(session: Session, what: str) -> None:
    """Refuse what is for clients that take tasks. Raises RpcError."""
    if not takes_tasks(session):
        message = f"{what} is for clients that declare `{TASKS_EXTENSION}`"
        raise RpcError(MISSING_CLIENT_CAPABILITY, message, _NEEDED)


async def call_parts(
    outcome: Outcome, session: Session, board: Board, channel: ClientChannel
) -> Parts:
    """The result of a call that may be a task: its answer, or the task in which it goes on."""
    if outcome.task_id and board.tasks is not None:
        task = await board.tasks().task(outcome.task_id, session)
        if task.outcome is None:
            # What it asks is for whoever asks for the task.
            members = task_members(task)
            members.pop("inputRequests", None)
            return task_parts(members, is_new=True)
        # It has ended in between.
        outcome = task.outcome
    if outcome.on_delivered is not None:
        channel.when_answered(outcome.on_delivered)
    return outcome_parts(outcome, session.era)


def task_members(task: Task) -> dict[str, Any]:
    """All that there is to tell of a task."""
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
    if task.inputs:
        members["inputRequests"] = task.inputs
    if task.outcome is not None:
        members["result"] = Raw(b"".join(outcome_parts(task.outcome, Era.MODERN)))
    return members


def _at(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
