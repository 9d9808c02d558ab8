"""The queue of a team: each run that waits is one worker's, and nobody else writes it."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from pathlib import Path

import pytest

from runs.ground import FakeOwners, a_run, known
from runs.store_contract import RunStoreContract
from support.postgres import Cluster
from switchboard.core.faults import Fault
from switchboard.core.stores import Owners
from switchboard.postgres.address import DatabaseAddress
from switchboard.postgres.presence import PRESENCE
from switchboard.runs.ports import RunStore
from switchboard.runs.store.postgres import RUNS
from switchboard.runs.team.queue_table import QUEUE, QueuePlace
from switchboard.runs.team.team_store import TeamRunStore


@pytest.fixture
def address(postgres: Cluster) -> Generator[DatabaseAddress]:
    with postgres.database([PRESENCE, RUNS, QUEUE]) as address:
        yield address


class TestTeamRunStore(RunStoreContract):
    """One database; each store stands for a worker."""

    @pytest.fixture(autouse=True)
    async def _database(self, address: DatabaseAddress) -> AsyncGenerator[None]:
        self.address = address
        self.made: list[TeamRunStore] = []
        yield
        for store in self.made:
            await store.aclose()

    def make(self, home: Path, owners: Owners, clock: Callable[[], float]) -> RunStore:
        del home
        store = TeamRunStore(self.address, owners=owners, clock=clock)
        self.made.append(store)
        return store


class Team:
    """A gateway and two workers, by their stores."""

    def __init__(self, address: DatabaseAddress) -> None:
        self.gone: set[str] = set()
        self.lapsed: set[str] = set()
        self.place = QueuePlace()
        self._address = address
        self.gateway = self._store("")
        self.one = self._store("a:worker:1")
        self.two = self._store("b:worker:2")

    def _store(self, name: str) -> TeamRunStore:
        return TeamRunStore(
            self._address,
            owners=FakeOwners(name, self.gone),
            placed=lambda _: self.place,
            is_lapsed=lambda: name in self.lapsed,
        )

    async def waiting(self, *queues: str) -> list[str]:
        return [run.id for run, _ in await self.one.waiting(queues or ("default",))]


@pytest.fixture
async def team(address: DatabaseAddress) -> AsyncGenerator[Team]:
    team = Team(address)
    yield team
    for store in (team.gateway, team.one, team.two):
        await store.aclose()


async def test_of_many_who_want_a_run_one_gets_it(team: Team) -> None:
    for number in range(10):
        run = await team.gateway.add(a_run(workspace=f"/w{number}"))
        taken = await asyncio.gather(
            *(store.take(run.id, alone=True) for store in (team.one, team.two) * 3)
        )
        assert [each.id for each in taken if each is not None] == [run.id]
        assert await team.waiting() == []


async def test_who_writes_in_a_workspace_keeps_others_from_it_whoever_takes_them(
    team: Team,
) -> None:
    first, second, third = [await team.gateway.add(a_run()) for _ in range(3)]
    reads = await team.gateway.add(a_run(may_write=False))
    # Whoever is above it waits for it.
    below = await team.gateway.add(a_run(depth=1))
    assert await team.one.take(first.id, alone=True) is not None
    assert await team.two.take(second.id, alone=True) is None
    assert await team.two.take(reads.id, alone=True) is not None
    assert await team.two.take(below.id, alone=True) is not None
    for store, run in ((team.one, first), (team.two, below)):
        await store.update(run.id, state="completed", ended_at=1.0)
    assert await team.two.take(second.id, alone=True) is not None
    # Not while its worker lives; one that is gone writes nothing.
    assert await team.one.take(third.id, alone=True) is None
    team.gone.add("b:worker:2")
    assert await team.one.take(third.id, alone=True) is not None


async def test_the_lowest_number_goes_first_and_each_queue_has_its_own(team: Team) -> None:
    ids: dict[str, str] = {}
    for name, queue, priority in (
        ("late", "default", 100),
        ("later", "default", 100),
        ("soon", "default", 5),
        ("big", "big", 1),
    ):
        team.place = QueuePlace(queue, priority)
        ids[name] = (await team.gateway.add(a_run())).id
    assert await team.waiting() == [ids["soon"], ids["late"], ids["later"]]
    assert await team.waiting("big") == [ids["big"]]
    assert (await team.waiting("big", "default"))[:2] == [ids["big"], ids["soon"]]
    assert await team.waiting("host:a") == []


async def test_what_is_not_to_be_repeated_waits_for_nobody_when_its_owner_is_gone(
    team: Team,
) -> None:
    """Somebody may be taken for gone between two looks of a worker at who is."""
    run = await team.gateway.add(a_run(on_crash="fail"))
    await team.one.take(run.id, alone=True)
    await team.one.claim(run.id, alone=True)
    team.gone.add("a:worker:1")
    assert await team.two.give_back(run.id) is None
    assert await team.waiting() == []
    kept = await team.gateway.get(run.id)
    assert kept is not None
    assert kept.state == "working"


async def test_nobody_but_its_owner_writes_a_run(team: Team) -> None:
    run = await team.gateway.add(a_run(on_crash="retry"))
    await team.one.take(run.id, alone=True)
    await team.one.claim(run.id, alone=True)
    await team.one.append(run.id, '{"event":"mine"}')
    assert await team.two.give_back(run.id) is None
    team.gone.add("a:worker:1")
    back = await team.two.give_back(run.id)
    assert back is not None
    assert (back.state, back.attempts) == ("queued", 1)
    for late in (
        team.one.update(run.id, state="completed", output="late", ended_at=1.0),
        team.one.append(run.id, '{"event":"late"}'),
    ):
        with pytest.raises(Fault) as caught:
            await late
        assert caught.value.reason == "run-taken-over"
    assert await team.one.claim(run.id, alone=True) is None
    assert await team.two.take(run.id, alone=True) is not None
    assert (await known(team.gateway, run.id)).output == ""
    assert [event.data for event in await team.gateway.transcript(run.id)] == ['{"event":"mine"}']
    # That an answer has arrived is for whoever gave it to say.
    assert (await team.gateway.update(run.id, is_delivered=True)).is_delivered


async def test_a_lapsed_worker_neither_reads_nor_writes(team: Team) -> None:
    run = await team.gateway.add(a_run())
    team.lapsed.add("a:worker:1")
    for late in (
        team.one.take(run.id, alone=True),
        team.one.update(run.id, doing="late"),
        team.one.get(run.id),
    ):
        with pytest.raises(Fault) as caught:
            await late
        assert caught.value.reason == "worker-lapsed"


async def test_what_an_engine_remembers_is_gone_on_with_on_its_machine(team: Team) -> None:
    resumed = await team.gateway.add(a_run(on_crash="resume"))
    await team.one.take(resumed.id, alone=False)
    await team.one.claim(resumed.id, alone=False)
    await team.one.update(resumed.id, thread_id="t-1")
    replied = await team.gateway.add(a_run(replies_to=resumed.id))
    assert await team.waiting("host:a") == [replied.id]
    back = await team.one.give_back(resumed.id)
    assert back is not None
    assert back.thread_id == "t-1"
    assert sorted(await team.waiting("host:a")) == sorted([resumed.id, replied.id])
    assert await team.waiting() == []
    assert await team.waiting("host:b") == []


async def test_a_run_that_waits_for_a_machine_without_a_worker_is_found(
    team: Team, address: DatabaseAddress, postgres: Cluster
) -> None:
    before = await team.gateway.add(a_run())
    await team.one.take(before.id, alone=False)
    bound = await team.gateway.add(a_run(replies_to=before.id))
    # Somebody chose this queue: its machine may come later.
    team.place = QueuePlace("host:a")
    await team.gateway.add(a_run())
    assert await team.two.stranded(3600) == []
    assert [run.id for run in await team.two.stranded(0)] == [bound.id]
    postgres.run(
        "INSERT INTO switchboard.members (id, role, host, tag, address)"
        " VALUES ('a:worker:9', 'worker', 'a', '9', '')",
        address,
    )
    postgres.run("UPDATE switchboard.run_queue SET since = now() - interval '1 hour'", address)
    assert await team.two.stranded(60) == []


async def test_a_run_that_nobody_wants_does_not_wait_again(team: Team) -> None:
    run = await team.gateway.add(a_run(on_crash="retry"))
    await team.one.take(run.id, alone=True)
    assert await team.gateway.end_waiting(run.id, state="cancelled", ended_at=1.0) is None
    assert await team.gateway.want_end(run.id)
    back = await team.one.give_back(run.id)
    assert back is not None
    assert back.state == "cancelled"
    assert await team.waiting() == []


async def test_what_is_said_to_a_run_reaches_its_worker_once(team: Team) -> None:
    run = await team.gateway.add(a_run())
    await team.one.take(run.id, alone=True)
    for text in ("first", "second"):
        await team.gateway.put_in(run.id, text)
    assert await team.two.inputs() == []
    assert await team.one.inputs() == [(run.id, "first"), (run.id, "second")]
    assert await team.one.inputs() == []
