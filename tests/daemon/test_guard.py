"""What guards a home leaves nothing behind."""

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from approvals.ground import a_launch
from fakes.calls import a_call, answer
from fakes.events import MemoryEvents
from switchboard.core.calls.call import Call
from switchboard.core.calls.launches import Launch
from switchboard.core.faults import Fault
from switchboard.daemon.board.guard import Guard


async def test_who_follows_a_question_ends_with_the_guard(tmp_path: Path) -> None:
    launch = a_launch(cwd=str(tmp_path))

    async def launch_of(_: Call) -> Launch:
        return launch

    guard = Guard(str(tmp_path), MemoryEvents())
    gate = guard.gates(launch_of, MemoryEvents(), "any").approval
    # Its client does not wait for long. The answer is waited for all the same, and written down.
    call = replace(a_call(launch.tool, client_timeout_s=0.05), launch=launch)
    with pytest.raises(Fault, match="approval"):
        await gate(call, answer)
    assert len(asyncio.all_tasks()) > 1
    await guard.aclose()
    assert asyncio.all_tasks() == {asyncio.current_task()}
