"""Many questions at once in a home, of many sessions and folders."""

import os
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from support.workspace import Workspace
from switchboard.approvals.queue import new_id
from switchboard.approvals.store.sqlite import SqliteApprovals
from switchboard.core.questions import Answer, Facts, Question, Risk

HOSTILE = '<img src=x onerror="window.hacked=1">\u202egnp.exe'


def asked(number: int) -> Question:
    """A question whose every word tries something."""
    now = time.time()
    return Question(
        id=new_id(),
        digest=os.urandom(16).hex(),
        # Three of each session, and fifty of each folder.
        session_id=f"crowd-{number // 3}",
        call_id=f"call-{number}",
        tool=f"tool{number}{HOSTILE}",
        workspace=f"/work/{number // 50}",
        client=f"client {number // 3} {HOSTILE}",
        facts=Facts(server="crowd", runs=f"run {number}", cwd="/work"),
        risk=Risk(level="medium"),
        arguments=f'{{"number": {number}, "text": "{number * 7919}"}}',
        prompt=f"Switchboard asks: tool {number}\n{HOSTILE}",
        offers=("once", "session"),
        asked_at=now,
        expires_at=now + 300,
    )


@asynccontextmanager
async def crowded(
    workspace: Workspace, count: int, *, begin: int = 0
) -> AsyncGenerator[list[Question]]:
    """So many questions that wait, posted by another process than the daemon."""
    store = SqliteApprovals(str(workspace.home))
    try:
        questions = [asked(begin + number) for number in range(count)]
        for each in questions:
            await store.post(each, "")
        yield questions
        for each in questions:
            await store.decide(each.id, Answer(verdict="cancelled", by="test", at=time.time()))
    finally:
        await store.aclose()
