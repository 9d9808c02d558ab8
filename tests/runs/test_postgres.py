"""Runs in PostgreSQL: the contract, and two processes that want the same run."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from pathlib import Path

import pytest

from runs.ground import FakeOwners, a_run
from runs.store_contract import RunStoreContract
from support.postgres import Cluster
from switchboard.core.faults import Fault
from switchboard.core.stores import Owners
from switchboard.postgres.address import DatabaseAddress
from switchboard.postgres.presence import PRESENCE, Presence
from switchboard.runs.ports import RunStore
from switchboard.runs.store.postgres import RUNS, PostgresRuns


@pytest.fixture
def address(postgres: Cluster) -> Generator[DatabaseAddress]:
    with postgres.database([PRESENCE, RUNS]) as address:
        yield address


class TestPostgresRuns(RunStoreContract):
    """One database; each store stands for a process."""

    @pytest.fixture(autouse=True)
    async def _database(self, address: DatabaseAddress) -> AsyncGenerator[None]:
        self.address = address
        self.made: list[PostgresRuns] = []
        yield
        for store in self.made:
            await store.aclose()

    def make(self, home: Path, owners: Owners, clock: Callable[[], float]) -> RunStore:
        del home
        store = PostgresRuns(self.address, owners=owners, clock=clock)
        self.made.append(store)
        return store


async def test_a_run_whose_process_was_not_heard_of_for_the_lease_is_adopted_once(
    address: DatabaseAddress, postgres: Cluster
) -> None:
    members = [Presence(address, "worker") for _ in range(3)]
    stores = [PostgresRuns(address, owners=each) for each in members]
    for each in members:
        each.join()
    try:
        run = await stores[0].add(a_run())
        assert await stores[1].abandoned() == []
        postgres.run(
            "UPDATE switchboard.members SET beat_at = now() - interval '61 seconds'"
            f" WHERE id = '{members[0].id}'",
            address,
        )
        assert [each.id for each in await stores[1].abandoned()] == [run.id]
        adopted = await asyncio.gather(
            *(store.adopt(run.id, reason="left") for store in stores[1:] for _ in range(4))
        )
        assert sum(each is not None for each in adopted) == 1
        # Whoever was taken for dead does not get it back.
        assert await stores[0].claim(run.id, alone=False) is None
    finally:
        for store in stores:
            await store.aclose()
        for each in members:
            each.leave()


async def test_of_many_who_begin_the_same_request_one_run_comes(address: DatabaseAddress) -> None:
    stores = [PostgresRuns(address, owners=FakeOwners()) for _ in range(3)]
    runs = [a_run(request_key="same") for _ in range(9)]
    made = await asyncio.gather(*(stores[n % 3].add(run) for n, run in enumerate(runs)))
    assert len({run.id for run in made}) == 1
    for store in stores:
        await store.aclose()


async def test_lines_of_many_at_once_are_numbered_without_a_gap(address: DatabaseAddress) -> None:
    stores = [PostgresRuns(address, owners=FakeOwners()) for _ in range(3)]
    run = await stores[0].add(a_run())
    await asyncio.gather(
        *(stores[n % 3].append(run.id, f'{{"n":{n}}}') for n in range(30)),
        *(stores[n % 3].update(run.id, doing=f"step {n}") for n in range(10)),
    )
    assert [event.number for event in await stores[1].transcript(run.id)] == list(range(1, 31))
    for store in stores:
        await store.aclose()


async def test_while_the_database_is_away_no_run_begins(postgres: Cluster) -> None:
    with postgres.database([PRESENCE, RUNS]) as address:
        store = PostgresRuns(address, owners=FakeOwners())
        await store.add(a_run(id="before"))
        postgres.crash()
        try:
            with pytest.raises(Fault) as caught:
                await store.add(a_run())
            assert caught.value.reason == "runs-unavailable"
            assert caught.value.hint == "switchboard doctor --db"
        finally:
            postgres.start()
        assert [run.id for run in await store.listed()] == ["before"]
        await store.aclose()


async def test_a_full_disk_is_said_to_be_that_of_the_database(
    address: DatabaseAddress, postgres: Cluster
) -> None:
    postgres.run(
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS"
        " $$BEGIN RAISE disk_full; END$$;"
        " CREATE TRIGGER is_full BEFORE INSERT ON switchboard.runs"
        " FOR EACH ROW EXECUTE FUNCTION full_disk()",
        address,
    )
    store = PostgresRuns(address, owners=FakeOwners())
    with pytest.raises(Fault) as caught:
        await store.add(a_run())
    await store.aclose()
    assert caught.value.reason == "disk-full"
    assert "of the database" in caught.value.message
    assert "of the database" in (caught.value.hint or "")
