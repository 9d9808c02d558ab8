"""What every store of runs keeps to, whatever its engine.

A test module of an engine inherits from `RunStoreContract` and says how a store is made. Two
stores that are made of one place stand for two processes.
"""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from runs.ground import FakeOwners, a_run, known
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.stores import Owners
from switchboard.runs.ports import RunStore
from switchboard.runs.run import RunState
from switchboard.runs.transcripts import MOST_BYTES, state_line

HOUR_S = 3600.0


class FakeClock:
    """Runs with the real one, and ahead of it."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


class RunStoreContract(ABC):
    """The tests that every store passes."""

    @abstractmethod
    def make(self, home: Path, owners: Owners, clock: Callable[[], float]) -> RunStore: ...

    @pytest.fixture
    def clock(self) -> FakeClock:
        return FakeClock()

    @pytest.fixture
    def gone(self) -> set[str]:
        return set()

    @pytest.fixture
    def store(self, tmp_path: Path, gone: set[str], clock: FakeClock) -> RunStore:
        return self.make(tmp_path, FakeOwners("us", gone), clock)

    @pytest.fixture
    def other(self, tmp_path: Path, gone: set[str], clock: FakeClock) -> RunStore:
        return self.make(tmp_path, FakeOwners("them", gone), clock)

    @pytest.fixture(autouse=True)
    async def closing(self, store: RunStore, other: RunStore):  # noqa: ANN201 - a fixture
        yield
        await store.aclose()
        await other.aclose()

    async def test_what_was_added_is_seen_by_every_process(
        self, store: RunStore, other: RunStore
    ) -> None:
        run = await store.add(a_run(task="täsk"))
        assert await other.get(run.id) == run
        assert await other.get("r-none") is None

    async def test_the_newest_runs_come_first_and_of_one_workspace_if_wanted(
        self, store: RunStore
    ) -> None:
        runs = [await store.add(a_run(workspace=name)) for name in ("/a", "/b", "/a")]
        assert [run.id for run in await store.listed()] == [run.id for run in reversed(runs)]
        assert [run.id for run in await store.listed(last=1)] == [runs[2].id]
        assert [run.id for run in await store.listed(workspace="/a")] == [runs[2].id, runs[0].id]

    async def test_what_has_not_ended_is_found_however_much_came_after_it(
        self, store: RunStore, other: RunStore
    ) -> None:
        first = await store.add(a_run(workspace="/a"))
        for _ in range(60):
            later = await store.add(a_run(workspace="/a"))
            await store.update(later.id, state="completed", ended_at=2000.0)
        elsewhere = await other.add(a_run(workspace="/b"))
        assert [run.id for run in await store.unfinished()] == [first.id, elsewhere.id]
        assert [run.id for run in await store.unfinished(workspace="/a")] == [first.id]

    async def test_a_thread_is_known_by_its_latest_run_begun_or_not(self, store: RunStore) -> None:
        first = await store.add(a_run(thread_id="t"))
        for run in (a_run(thread_id="t", workspace="/v"), a_run(thread_id="u"), a_run(task="t")):
            await store.add(run)
        assert await store.last_of_thread("/w", "t") == first
        reply = await store.add(a_run(replies_to=first.id, resumes="t"))
        assert await store.last_of_thread("/w", "t") == reply
        assert await store.last_of_thread("/w", "x") is None

    async def test_a_conversation_is_known_as_long_as_any_of_its_runs(
        self, store: RunStore
    ) -> None:
        alone, first = await store.add(a_run()), await store.add(a_run())
        reply = await store.add(a_run(replies_to="r-between", conversation=first.id))
        await store.update(first.id, state="completed", ended_at=1000.0)
        assert await store.sweep(2000.0) == 1
        # Replies of earlier versions name nothing but the run before them.
        assert await store.conversations() == {alone.id, first.id, reply.id, "r-between"}

    async def test_an_undelivered_request_is_found_again(
        self, store: RunStore, other: RunStore, clock: FakeClock
    ) -> None:
        first = await store.add(a_run(request_key="k"))
        assert (await other.add(a_run(request_key="k"))).id == first.id
        await store.update(first.id, state="completed", ended_at=clock())
        assert (await store.add(a_run(request_key="k"))).id == first.id
        assert (await store.add(a_run(request_key="l"))).id != first.id
        clock.ahead = HOUR_S + 1
        assert (await store.add(a_run(request_key="k"))).id != first.id

    async def test_a_delivered_request_is_a_new_run(self, store: RunStore) -> None:
        first = await store.add(a_run(request_key="k"))
        await store.update(first.id, is_delivered=True)
        assert (await store.add(a_run(request_key="k"))).id != first.id

    async def test_of_many_equal_requests_at_once_one_is_kept(
        self, store: RunStore, other: RunStore
    ) -> None:
        stores = [store, other] * 10
        added = await asyncio.gather(*(each.add(a_run(request_key="k")) for each in stores))
        assert len({run.id for run in added}) == 1

    @pytest.mark.parametrize("end", ["completed", "failed", "cancelled"])
    async def test_a_run_that_has_ended_changes_no_more_but_for_its_delivery(
        self, store: RunStore, end: RunState
    ) -> None:
        run = await store.add(a_run())
        await store.update(run.id, state=end, output="first", ended_at=2000.0)
        await store.update(run.id, state="working", output="second", is_delivered=True)
        found = await known(store, run.id)
        assert (found.state, found.output, found.is_delivered) == (end, "first", True)

    async def test_only_the_process_of_a_run_claims_it_and_once(
        self, store: RunStore, other: RunStore
    ) -> None:
        run = await store.add(a_run())
        assert await other.claim(run.id, alone=False) is None
        claims = await asyncio.gather(*(store.claim(run.id, alone=False) for _ in range(5)))
        [claimed] = [claim for claim in claims if claim is not None]
        assert (claimed.state, claimed.attempts) == ("working", 1)
        assert claimed.started_at > 0

    async def test_a_writer_alone_waits_for_writers_of_living_processes(
        self, store: RunStore, other: RunStore, gone: set[str]
    ) -> None:
        theirs = await other.add(a_run())
        await other.claim(theirs.id, alone=True)
        ours, reader = await store.add(a_run()), await store.add(a_run(may_write=False))
        assert await store.claim(ours.id, alone=True) is None
        assert await store.claim(reader.id, alone=True) is not None
        gone.add("them")
        assert await store.claim(ours.id, alone=True) is not None

    async def test_abandoned_runs_are_adopted_by_one(
        self, store: RunStore, other: RunStore, gone: set[str], tmp_path: Path, clock: FakeClock
    ) -> None:
        run = await other.add(a_run())
        ended = await other.add(a_run(workspace="/v"))
        await other.update(ended.id, state="completed", ended_at=2000.0)
        assert await store.abandoned() == []
        assert await store.adopt(run.id, state="queued") is None
        gone.add("them")
        assert [each.id for each in await store.abandoned()] == [run.id]
        third = self.make(tmp_path, FakeOwners("third", gone), clock)
        adopted = await asyncio.gather(store.adopt(run.id), third.adopt(run.id))
        assert sum(each is not None for each in adopted) == 1
        assert await store.abandoned() == []
        await third.aclose()

    async def test_a_wish_to_end_reaches_the_process_of_the_run(
        self, store: RunStore, other: RunStore
    ) -> None:
        run = await store.add(a_run())
        assert await other.want_end(run.id)
        assert await store.unwanted() == [run.id]
        assert await other.unwanted() == []
        await store.update(run.id, state="cancelled", ended_at=2000.0)
        assert await store.unwanted() == []
        assert not await other.want_end(run.id)

    async def test_lines_are_numbered_and_read_from_any_on(self, store: RunStore) -> None:
        run = await store.add(a_run())
        lines = [await store.append(run.id, f'{{"event":"message","text":"{n}"}}') for n in "abc"]
        assert [line.number for line in lines] == [1, 2, 3]
        assert await store.transcript(run.id, after=1) == lines[1:]

    async def test_a_line_that_is_too_long_is_cut_and_says_so(self, store: RunStore) -> None:
        run = await store.add(a_run())
        await store.append(run.id, '{"event":"message","text":"' + "x" * 1_000_000 + '"}')
        [line] = await store.transcript(run.id)
        assert len(line.data) < 100_000
        told = msgspec.json.decode(line.data)
        assert (told["event"], told["of"]) == ("cut", "message")

    async def test_a_transcript_has_an_end_and_still_tells_how_the_run_ended(
        self, store: RunStore
    ) -> None:
        run = await store.add(a_run())
        piece = '{"event":"message","text":"' + "x" * 250_000 + '"}'
        for _ in range(MOST_BYTES // len(piece) + 5):
            await store.append(run.id, piece)
        await store.append(run.id, state_line("completed"))
        lines = await store.transcript(run.id)
        assert sum(len(line.data) for line in lines) < MOST_BYTES + 10_000
        kinds = [msgspec.json.decode(line.data)["event"] for line in lines]
        assert kinds[-2:] == ["cut", "state"]
        assert kinds.count("cut") == 1

    async def test_old_runs_are_forgotten_with_their_transcripts(self, store: RunStore) -> None:
        old, new, going = [await store.add(a_run()) for _ in range(3)]
        await store.append(old.id, state_line("completed"))
        await store.update(old.id, state="completed", ended_at=1000.0)
        await store.update(new.id, state="completed", ended_at=3000.0)
        assert await store.sweep(2000.0) == 1
        assert await store.get(old.id) is None
        assert await store.transcript(old.id) == []
        assert {run.id for run in await store.listed()} == {new.id, going.id}

    async def test_a_run_that_is_not_there_is_a_fault(self, store: RunStore) -> None:
        for work in (store.update("r-none", output="x"), store.append("r-none", "{}")):
            with pytest.raises(Fault) as refusal:
                await work
            assert refusal.value.code is FaultCode.NOT_FOUND
