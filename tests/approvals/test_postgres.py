"""Approvals in PostgreSQL: the contract, gateways that race, and a database that goes away."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager

import pytest

from approvals.asker_contract import a_question
from approvals.ground import decision
from approvals.store_contract import PATIENCE, ApprovalStoreContract, ids, state
from support.postgres import Cluster
from switchboard.approvals.store.postgres import APPROVALS, PostgresApprovals
from switchboard.core.faults import Fault
from switchboard.core.stores import ApprovalStore, Owners
from switchboard.postgres.address import DatabaseAddress
from switchboard.postgres.presence import PRESENCE, Presence

PARTS = (PRESENCE, APPROVALS)


@pytest.fixture
def address(postgres: Cluster) -> Generator[DatabaseAddress]:
    with postgres.database(PARTS) as address:
        yield address


class TestPostgresApprovals(ApprovalStoreContract):
    """One database; each store stands for a gateway."""

    @pytest.fixture(autouse=True)
    async def _database(self, address: DatabaseAddress) -> AsyncGenerator[None]:
        self.address = address
        self.made: list[PostgresApprovals] = []
        yield
        for store in self.made:
            await store.aclose()

    def make(self, clock: Callable[[], float], owners: Owners) -> ApprovalStore:
        store = PostgresApprovals(self.address, owners=owners, clock=clock)
        self.made.append(store)
        return store


class NobodyGone:
    """Owners of whom nothing is known."""

    def own(self) -> str:
        return ""

    def is_gone(self, owner: str, heard_at: float = 0.0, /) -> bool:
        del heard_at
        del owner
        return False


@pytest.fixture
async def store(address: DatabaseAddress) -> AsyncGenerator[PostgresApprovals]:
    store = PostgresApprovals(address, owners=NobodyGone())
    yield store
    await store.aclose()


# Gateways


@asynccontextmanager
async def two_gateways(
    address: DatabaseAddress,
) -> AsyncGenerator[tuple[Presence, list[PostgresApprovals]]]:
    """The first of two that are alive, and the queue as each of them sees it."""
    both = [Presence(address, "gateway") for _ in range(2)]
    stores = [PostgresApprovals(address, owners=each) for each in both]
    for each in both:
        each.join()
    try:
        yield both[0], stores
    finally:
        for store in stores:
            await store.aclose()
        for each in both:
            each.leave()


async def test_a_question_ends_when_its_gateway_has_not_been_heard_of_for_the_lease(
    address: DatabaseAddress, postgres: Cluster
) -> None:
    async with two_gateways(address) as (asked, stores):
        await stores[0].post(a_question("theirs"), asked.own())
        # A minute and more ago.
        postgres.run("UPDATE switchboard.questions SET asked_at = asked_at - 61", address)
        assert await ids(stores[1]) == ["theirs"]
        # It was killed: nobody beats for it any more.
        postgres.run(
            "UPDATE switchboard.members SET beat_at = now() - interval '61 seconds'"
            f" WHERE id = '{asked.id}'",
            address,
        )
        assert await ids(stores[1]) == []
        assert await state(stores[1], "theirs") == "cancelled"


async def test_a_gateway_that_asks_before_it_beats_again_is_not_gone(
    address: DatabaseAddress, postgres: Cluster
) -> None:
    """The database was away for longer than the lease, and has just come back."""
    async with two_gateways(address) as (asked, stores):
        postgres.run(
            "UPDATE switchboard.members SET beat_at = now() - interval '61 seconds'"
            f" WHERE id = '{asked.id}'",
            address,
        )
        await stores[0].post(a_question("theirs"), asked.own())
        assert await ids(stores[1]) == ["theirs"]


async def test_a_gateway_that_ends_takes_its_questions_along_at_once(
    address: DatabaseAddress,
) -> None:
    ended, other = Presence(address, "gateway"), Presence(address, "gateway")
    ended.join()
    other.join()
    store = PostgresApprovals(address, owners=other)
    try:
        await store.post(a_question("theirs"), ended.own())
        assert await ids(store) == ["theirs"]
        ended.leave()
        assert await ids(store) == []
    finally:
        await store.aclose()
        other.leave()


async def test_of_two_gateways_that_ask_the_same_at_once_one_posts_and_one_finds_it(
    address: DatabaseAddress,
) -> None:
    stores = [PostgresApprovals(address, owners=NobodyGone()) for _ in range(2)]
    posted = await asyncio.gather(*(stores[n % 2].post(a_question(f"q{n}"), "") for n in range(12)))
    assert len({each.question.id for each in posted}) == 1
    assert len(await ids(stores[0])) == 1
    for store in stores:
        await store.aclose()


# The database


async def test_a_connection_that_was_cut_comes_back_and_whoever_listens_is_told(
    address: DatabaseAddress, postgres: Cluster, store: PostgresApprovals
) -> None:
    other = PostgresApprovals(address, owners=NobodyGone())
    await store.post(a_question("ours"), "")
    with store.subscribe() as news:
        while await news.changed(0.2):
            """What was there before may be told once."""
        postgres.cut(address)
        assert await other.decide("ours", decision("denied"))
        async with asyncio.timeout(PATIENCE):
            while (answer := await store.answer("ours")) is None:
                await news.changed(PATIENCE)
    assert answer.verdict == "denied"
    # It listens again.
    with store.subscribe() as news:
        while await news.changed(1.0):
            """Until it is quiet."""
        await other.post(a_question("theirs", digest="d2"), "")
        assert await news.changed(PATIENCE)
    await other.aclose()


async def test_while_the_database_is_away_there_is_a_fault_and_afterwards_everything_is_there(
    postgres: Cluster,
) -> None:
    with postgres.database(PARTS) as address:
        store = PostgresApprovals(address, owners=NobodyGone())
        await store.post(a_question("ours"), "")
        await store.decide("ours", decision())
        postgres.crash()
        try:
            for _ in range(2):
                with pytest.raises(Fault) as caught:
                    await store.consume("ours", "d1")
                assert caught.value.reason == "approvals-unavailable"
                assert caught.value.hint == "switchboard doctor --db"
        finally:
            postgres.start()
        assert await store.consume("ours", "d1")
        assert not await store.consume("ours", "d1")
        await store.aclose()


@pytest.mark.parametrize("text", ["'; DROP TABLE questions; --", "%s %(x)s ? $1", "\\x27"])
async def test_whatever_text_comes_is_a_value(store: PostgresApprovals, text: str) -> None:
    await store.post(a_question("ours", session=text, digest=text), "")
    [found] = await store.waiting()
    assert (found.question.session_id, found.question.digest) == (text, text)
    await store.leave(text)
    assert await ids(store) == []


async def test_a_text_that_cannot_be_kept_is_a_fault(store: PostgresApprovals) -> None:
    with pytest.raises(Fault) as caught:
        await store.post(a_question("ours", session="zero\0"), "")
    assert caught.value.reason == "approvals-unavailable"
    assert await ids(store) == []
