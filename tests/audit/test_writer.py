"""What callers may rely on: on disk means on disk, and nobody waits for ever."""

import asyncio
import fcntl
import os
import time

import pytest

from audit.ground import Ground, a_record
from switchboard.core.audit import AuditRecord
from switchboard.core.faults import Fault, FaultCode

PATIENCE = 10.0


async def test_a_record_is_on_disk_when_append_returns(ground: Ground) -> None:
    async with ground.writing() as writer:
        await writer.append(a_record("now"))
        # Seen by others, while the writer is still open.
        assert ground.calls() == ["now"]
        found = ground.verified()
        assert (found.is_whole, found.ahead) == (True, 0)


async def test_a_posted_record_is_on_disk_within_200_ms_and_something(ground: Ground) -> None:
    async with ground.writing() as writer:
        await writer.append(a_record("first"))
        began = time.monotonic()
        writer.post(a_record("posted"))
        async with asyncio.timeout(PATIENCE):
            while ground.calls() != ["first", "posted"]:  # noqa: ASYNC110 - a file tells nobody
                await asyncio.sleep(0.01)
        # The promise is 200 ms; the rest is for a busy machine.
        assert time.monotonic() - began < 1.0


async def test_records_keep_their_order_whoever_waits_for_them(ground: Ground) -> None:
    async with ground.writing() as writer:
        for number in range(50):
            writer.post(a_record(f"{number}-posted"))
            if number % 7 == 0:
                await writer.append(a_record(f"{number}-awaited"))
        await writer.flush()
        calls = [call for call in ground.calls() if call.endswith("-posted")]
        assert calls == [f"{number}-posted" for number in range(50)]


async def test_many_callers_share_their_groups(ground: Ground) -> None:
    async with ground.writing() as writer:
        await asyncio.gather(*(writer.append(a_record(f"c{number}")) for number in range(200)))
    assert sorted(ground.calls()) == sorted(f"c{number}" for number in range(200))
    sealed = [row for row in ground.rows() if row.seal is not None]
    assert len(sealed) < 20


async def test_what_was_posted_is_written_before_the_writer_ends(ground: Ground) -> None:
    async with ground.writing() as writer:
        for number in range(1_000):
            writer.post(a_record(f"c{number}"))
    assert len(ground.calls()) == 1_000
    with pytest.raises(Fault):
        await writer.append(a_record("too late"))


async def test_a_call_that_is_cancelled_before_its_turn_leaves_no_record(ground: Ground) -> None:
    async with ground.writing() as writer:
        await writer.append(a_record("first"))
        with holding(ground):
            task = asyncio.ensure_future(writer.append(a_record("under way")))
            await asyncio.sleep(0.05)
            late = asyncio.ensure_future(writer.append(a_record("late")))
            await asyncio.sleep(0)
            late.cancel()
        await task
        await writer.flush()
    assert ground.calls() == ["first", "under way"]


async def test_who_cannot_have_the_lock_gives_up_with_a_hint(ground: Ground) -> None:
    await ground.write(1)
    async with ground.writing(patience_s=0.2) as writer:
        with holding(ground), pytest.raises(Fault) as caught:
            await writer.append(a_record("second"))
        fault = caught.value
        assert (fault.code, fault.reason) == (FaultCode.UNAVAILABLE, "audit-unwritable")
        assert "switchboard status" in fault.hint
    # Once it is free, others go on.
    await ground.write(1, start=2)
    assert ground.calls()[-1] == "call-2"


async def test_each_of_many_gives_up_in_its_own_time(ground: Ground) -> None:
    async with ground.writing(patience_s=0.3) as writer:
        await writer.append(a_record("first"))
        with holding(ground):
            waiting: list[asyncio.Task[None]] = []
            for number in range(3):
                waiting.append(asyncio.ensure_future(writer.append(a_record(f"held-{number}"))))
                await asyncio.sleep(0.05)
            # Whoever waits no longer keeps nobody else from being told.
            waiting[0].cancel()
            for task in waiting[1:]:
                with pytest.raises(Fault, match="another process holds it"):
                    await asyncio.wait_for(task, PATIENCE)
        await writer.append(a_record("last"))
    assert ground.calls()[-1] == "last"


async def test_a_record_that_cannot_be_made_takes_no_other_with_it(ground: Ground) -> None:
    def make() -> AuditRecord:
        raise ZeroDivisionError

    async with ground.writing() as writer:
        writer.post(lambda: a_record("first"))
        writer.post(make)
        writer.post(lambda: a_record("third"))
        await writer.flush()
        assert ground.calls() == ["first", "third"]
    assert "ZeroDivisionError" in ground.notes("audit.lost")[0]
    assert ground.told == []


async def test_a_path_that_is_no_text_is_still_written_down(ground: Ground) -> None:
    async with ground.writing() as writer:
        record = AuditRecord(ts="now", event="x", correlation_id="odd", cwd="/tmp/\udcff")
        await writer.append(record)
    (row,) = [row for row in ground.rows() if row.call == "odd"]
    assert b"udcff" in row.body
    assert ground.verified().is_whole


async def test_two_loops_may_use_one_writer(ground: Ground) -> None:
    async with ground.writing() as writer:
        await writer.append(a_record("here"))
        await asyncio.to_thread(asyncio.run, writer.append(a_record("there")))
    assert ground.calls() == ["here", "there"]


class holding:  # noqa: N801 - reads as a verb
    """Another process that holds the log."""

    def __init__(self, ground: Ground) -> None:
        self._path = ground.paths.lock

    def __enter__(self) -> None:
        self._handle = os.open(self._path, os.O_RDWR)
        fcntl.flock(self._handle, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        os.close(self._handle)
