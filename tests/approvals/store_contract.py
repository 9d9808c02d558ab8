"""What every approval store keeps to, whatever its engine.

A test module of an engine inherits from `ApprovalStoreContract` and says how a store is made. Two
stores that are made of one place stand for two processes.
"""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable

import pytest
from msgspec import structs

from approvals.asker_contract import a_question
from approvals.ground import decision
from support.requirements import attack, requirement
from switchboard.approvals.queue import (
    PENDING_OVER_HTTP,
    PENDING_PER_ENTRANCE,
    PENDING_PER_SESSION,
    PENDING_PER_WORKSPACE,
    STALE_S,
    TTL_S,
)
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.questions import Verdict
from switchboard.core.stores import ApprovalStore, Held, Owners, PinKey, Posted

PATIENCE = 10.0
READ = PinKey("notes", "f1", "read")


class FakeClock:
    """Runs with the real one, and ahead of it."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


class FakeOwners:
    """Owners that are gone when a test says so."""

    def __init__(self) -> None:
        self.gone: set[str] = set()

    def own(self) -> str:
        return "us"

    def is_gone(self, owner: str, heard_at: float = 0.0, /) -> bool:
        del heard_at
        return owner in self.gone


async def state(store: ApprovalStore, question_id: str) -> str:
    found = await store.find(question_id)
    assert found is not None
    return found.state


async def ids(store: ApprovalStore) -> list[str]:
    return [posted.question.id for posted in await store.waiting()]


async def until_refused(post: Callable[[int], Awaitable[object]]) -> Fault:
    for number in range(1_000):
        try:
            await post(number)
        except Fault as fault:
            return fault
    raise AssertionError("nothing was refused")


async def a_change(store: ApprovalStore, after: str = "after") -> Held:
    """Pin a definition, and find it changed."""
    await store.pin(READ, "h-before", "before")
    held = await store.pin(READ, f"h-{after}", after)
    assert held is not None
    return held


class ApprovalStoreContract(ABC):
    """Everything that the gate and the command line rely on."""

    @abstractmethod
    def make(self, clock: Callable[[], float], owners: Owners) -> ApprovalStore:
        """Make a store over the place of this test."""

    @pytest.fixture
    def clock(self) -> FakeClock:
        return FakeClock()

    @pytest.fixture
    def owners(self) -> FakeOwners:
        return FakeOwners()

    @pytest.fixture
    def store(self, clock: FakeClock, owners: FakeOwners) -> ApprovalStore:
        return self.make(clock, owners)

    @pytest.fixture
    def other(self, clock: FakeClock, owners: FakeOwners) -> ApprovalStore:
        return self.make(clock, owners)

    # What becomes of a question

    @requirement("S3.34")
    @pytest.mark.parametrize("verdict", ["approved", "denied", "cancelled"])
    async def test_a_question_is_decided_once(self, store: ApprovalStore, verdict: Verdict) -> None:
        question = a_question()
        await store.post(question, "")
        assert await store.answer(question.id) is None
        assert await store.decide(question.id, decision(verdict))
        for later in ("approved", "denied"):
            assert not await store.decide(question.id, decision(later))
        answer = await store.answer(question.id)
        assert answer is not None
        assert answer.verdict == verdict

    async def test_an_approval_is_used_once(self, store: ApprovalStore) -> None:
        question = a_question()
        await store.post(question, "")
        assert not await store.consume(question.id, question.digest)
        await store.decide(question.id, decision())
        assert not await store.consume(question.id, "another digest")
        assert await store.consume(question.id, question.digest)
        assert not await store.consume(question.id, question.digest)
        assert await state(store, question.id) == "consumed"

    async def test_of_many_who_race_for_one_approval_one_uses_it(
        self, store: ApprovalStore, clock: FakeClock, owners: FakeOwners
    ) -> None:
        question = a_question()
        await store.post(question, "")
        await store.decide(question.id, decision())
        racers = [self.make(clock, owners) for _ in range(8)]
        wins = await asyncio.gather(
            *(racer.consume(question.id, question.digest) for racer in racers for _ in range(4))
        )
        assert wins.count(True) == 1

    @pytest.mark.parametrize("verdict", ["denied", "cancelled"])
    async def test_what_was_not_approved_cannot_be_used(
        self, store: ApprovalStore, verdict: Verdict
    ) -> None:
        question = a_question()
        await store.post(question, "")
        await store.decide(question.id, decision(verdict))
        assert not await store.consume(question.id, question.digest)

    @requirement("S3.34")
    async def test_a_question_expires_and_cannot_be_approved_then(
        self, store: ApprovalStore, clock: FakeClock
    ) -> None:
        question = a_question(expires_in_s=TTL_S)
        await store.post(question, "")
        clock.ahead = TTL_S + 1
        answer = await store.answer(question.id)
        assert answer is not None
        assert answer.verdict == "expired"
        assert not await store.decide(question.id, decision())
        assert await store.waiting() == []
        assert await state(store, question.id) == "expired"

    async def test_an_approval_that_nobody_uses_expires(
        self, store: ApprovalStore, clock: FakeClock
    ) -> None:
        question = a_question(expires_in_s=TTL_S)
        await store.post(question, "")
        clock.ahead = TTL_S - 1
        assert await store.decide(question.id, decision())
        clock.ahead += TTL_S + 2
        assert not await store.consume(question.id, question.digest)
        assert await state(store, question.id) == "expired"

    async def test_old_questions_are_forgotten(
        self, store: ApprovalStore, clock: FakeClock
    ) -> None:
        await store.post(a_question(), "")
        clock.ahead = 3 * 24 * 3600
        assert [posted.state for posted in await store.recent()] == []

    async def test_a_question_that_nobody_posted_has_expired(self, store: ApprovalStore) -> None:
        answer = await store.answer("unknown")
        assert answer is not None
        assert answer.verdict == "expired"
        assert await store.find("unknown") is None

    # Sharing and caps

    async def test_identical_questions_share_one_place_and_find_an_approval_given_meanwhile(
        self, store: ApprovalStore
    ) -> None:
        first = await store.post(a_question("one"), "")
        second = await store.post(a_question("two"), "")
        assert second.question.id == first.question.id == "one"
        await store.decide("one", decision())
        found = await store.post(a_question("three"), "")
        assert found.question.id == "one"
        assert found.answer is not None
        assert await store.consume("one", "d1")
        assert (await store.post(a_question("four"), "")).question.id == "four"

    async def test_the_same_call_of_another_session_is_another_question(
        self, store: ApprovalStore
    ) -> None:
        await store.post(a_question("one"), "")
        assert (await store.post(a_question("two", session="other"), "")).question.id == "two"

    async def test_a_denied_question_can_be_asked_again(self, store: ApprovalStore) -> None:
        await store.post(a_question("one"), "")
        await store.decide("one", decision("denied"))
        assert (await store.post(a_question("two"), "")).question.id == "two"

    async def test_a_session_has_three_questions_at_most(self, store: ApprovalStore) -> None:
        fault = await until_refused(lambda n: store.post(a_question(f"q{n}", digest=f"d{n}"), ""))
        assert (fault.code, fault.reason) == (FaultCode.RESOURCE_EXHAUSTED, "too-many-questions")
        assert len(await store.waiting()) == PENDING_PER_SESSION == 3
        assert (await store.post(a_question("other", session="other"), "")).question.id == "other"
        await store.decide("q0", decision("denied"))
        assert (await store.post(a_question("more", digest="more"), "")).question.id == "more"

    async def test_many_sessions_cannot_flood_a_person_either(self, store: ApprovalStore) -> None:
        fault = await until_refused(lambda n: store.post(a_question(f"q{n}", session=f"s{n}"), ""))
        assert fault.code is FaultCode.RESOURCE_EXHAUSTED
        assert len(await store.waiting()) == PENDING_PER_WORKSPACE

    @attack("A4")
    async def test_sessions_that_ask_a_lot_do_not_keep_another_from_asking(
        self, store: ApprovalStore
    ) -> None:
        """Twenty-two sessions leave three questions each, and nobody answers any."""
        for n in range(PENDING_PER_WORKSPACE):
            await store.post(a_question(f"q{n}", session=f"s{n // 3}", digest=f"d{n}"), "")
        assert (await store.post(a_question("mine", session="me"), "")).question.id == "mine"
        left = await ids(store)
        assert (len(left), left[0], left[-1]) == (PENDING_PER_WORKSPACE, "q1", "mine")
        displaced = await store.answer("q0")
        assert displaced is not None
        assert (displaced.verdict, displaced.by) == ("cancelled", "queue")

    async def test_names_that_an_http_client_makes_up_do_not_fill_the_queue(
        self, store: ApprovalStore
    ) -> None:
        """Eighty names with one token from one address, then a session that is attached."""

        def over_http(name: str, entrance: str) -> Awaitable[Posted]:
            asked = a_question(name, digest=name, session=f"http:{name}")
            return store.post(structs.replace(asked, offers=("once",), entrance=entrance), "")

        fault = await until_refused(lambda n: over_http(f"q{n}", "one@::1"))
        assert len(await store.waiting()) == PENDING_PER_ENTRANCE
        assert "16 questions of clients with this token and address" in fault.message
        # Another token has places of its own, but not all of them.
        await until_refused(lambda n: over_http(f"r{n}", f"{n}@::1"))
        assert len(await store.waiting()) == PENDING_OVER_HTTP
        for n in range(PENDING_PER_WORKSPACE - PENDING_OVER_HTTP):
            asked = a_question(f"s{n}", session=f"s{n}")
            assert (await store.post(asked, "")).question.id == f"s{n}"

    @attack("T96")
    async def test_some_people_who_ask_a_lot_do_not_keep_others_of_a_team_from_asking(
        self, store: ApprovalStore
    ) -> None:
        """Three leave as many questions as one may, in the places of all over HTTP."""

        def of_person(name: str, who: str) -> Awaitable[Posted]:
            asked = a_question(name, digest=name, session=f"http:{name}")
            more = {"offers": ("once",), "entrance": f"{who}@", "person": who}
            return store.post(structs.replace(asked, **more), "")

        for n in range(PENDING_OVER_HTTP):
            await of_person(f"q{n}", f"hostile {n // PENDING_PER_ENTRANCE}")
        assert (await of_person("mine", "ada")).state == "pending"
        left = await ids(store)
        assert (len(left), left[0], left[-1]) == (PENDING_OVER_HTTP, "q1", "mine")
        with pytest.raises(Fault):
            await of_person("more", "hostile 2")

    async def test_one_workspace_does_not_fill_the_queue_of_another(
        self, store: ApprovalStore
    ) -> None:
        for n in range(PENDING_PER_WORKSPACE):
            await store.post(a_question(f"q{n}", session=f"s{n}", workspace="/one"), "")
        fault = await until_refused(
            lambda n: store.post(a_question(f"r{n}", session=f"r{n}", workspace="/one"), "")
        )
        assert fault.reason == "too-many-questions"
        await store.post(a_question("other", session="other", workspace="/two"), "")

    @attack("A3")
    async def test_what_a_client_without_a_session_left_gives_way_after_a_while(
        self, store: ApprovalStore, clock: FakeClock
    ) -> None:
        """It may be gone for good, or another may come under the same name."""

        def post(name: str) -> Awaitable[Posted]:
            asked = a_question(name, digest=name, session="http:x", expires_in_s=600)
            return store.post(structs.replace(asked, offers=("once",)), "")

        for name in ("a", "b", "c"):
            await post(name)
        with pytest.raises(Fault):
            await post("d")
        clock.ahead += STALE_S + 1
        assert (await post("d")).state == "pending"
        assert await ids(store) == ["b", "c", "d"]

    @attack("F5")
    async def test_an_approval_does_not_last_longer_because_the_clock_is_set_back(
        self, store: ApprovalStore, clock: FakeClock
    ) -> None:
        """Two hours earlier it would be good for two hours more."""
        await store.post(a_question("one", expires_in_s=90_000), "")
        assert await store.decide("one", decision())
        clock.ahead = -7_200
        assert not await store.consume("one", "d1")
        again = await store.post(a_question("two", expires_in_s=90_000), "")
        assert (again.question.id, again.state) == ("two", "pending")

    async def test_what_a_session_asked_or_was_given_ends_with_it(
        self, store: ApprovalStore
    ) -> None:
        await store.post(a_question("one"), "")
        await store.post(a_question("two", digest="d2"), "")
        await store.post(a_question("other", session="other"), "")
        await store.decide("two", decision())
        await store.leave("session")
        assert await ids(store) == ["other"]
        assert not await store.consume("two", "d2")

    # Owners

    async def test_a_question_ends_with_its_owner_and_only_with_that(
        self, store: ApprovalStore, owners: FakeOwners
    ) -> None:
        await store.post(a_question("theirs", session="one"), "them")
        await store.post(a_question("ours", session="two"), "us")
        await store.post(a_question("nobody", session="three"), "")
        owners.gone = {"them", ""}
        assert await ids(store) == ["ours", "nobody"]
        assert await state(store, "theirs") == "cancelled"
        assert not await store.decide("theirs", decision())

    async def test_an_approval_of_an_owner_that_is_gone_is_of_no_use(
        self, store: ApprovalStore, owners: FakeOwners
    ) -> None:
        await store.post(a_question("theirs"), "them")
        await store.decide("theirs", decision())
        owners.gone = {"them"}
        assert (await store.post(a_question("new"), "us")).question.id == "new"

    # Two processes, and being told

    async def test_what_one_decides_the_other_sees(
        self, store: ApprovalStore, other: ApprovalStore
    ) -> None:
        await store.post(a_question("ours"), "")
        assert await ids(other) == ["ours"]
        assert await other.decide("ours", decision("denied"))
        answer = await store.answer("ours")
        assert answer is not None
        assert answer.verdict == "denied"

    @pytest.mark.parametrize("who", ["store", "other"])
    async def test_whoever_subscribes_is_told_of_a_change(
        self, store: ApprovalStore, other: ApprovalStore, who: str
    ) -> None:
        await store.post(a_question("ours"), "")
        with store.subscribe() as news:
            while await news.changed(0.2):
                """What was there before may be told once."""
            deciding = asyncio.ensure_future(
                (store if who == "store" else other).decide("ours", decision())
            )
            assert await news.changed(PATIENCE)
            assert await deciding
        answer = await store.answer("ours")
        assert answer is not None

    async def test_a_change_before_the_look_is_not_missed(
        self, store: ApprovalStore, other: ApprovalStore
    ) -> None:
        await store.post(a_question("ours"), "")
        with store.subscribe() as news:
            assert await store.answer("ours") is None
            await other.decide("ours", decision())
            async with asyncio.timeout(PATIENCE):
                while await store.answer("ours") is None:
                    await news.changed(PATIENCE)

    async def test_where_nothing_changes_nobody_is_told(self, store: ApprovalStore) -> None:
        await store.post(a_question("ours"), "")
        with store.subscribe() as news:
            while await news.changed(0.2):
                """What was there before may be told once."""
            await store.answer("ours")
            assert not await news.changed(0.2)

    # Definitions

    async def test_a_definition_is_pinned_at_first_sight(self, store: ApprovalStore) -> None:
        assert await store.pin(READ, "h1", "one") is None
        assert await store.pin(READ, "h1", "one") is None
        assert await store.pin(PinKey("notes", "f2", "read"), "h2", "two") is None
        held = await store.pin(READ, "h2", "two")
        assert held is not None
        assert (held.server, held.tool, held.before, held.after) == ("notes", "read", "one", "two")
        assert [each.id for each in await store.held()] == [held.id]

    async def test_an_id_stands_for_one_change(self, store: ApprovalStore) -> None:
        first = await a_change(store)
        again, other = await a_change(store), await a_change(store, "worse")
        assert first.id == again.id != other.id
        assert not await store.accept(first)

    async def test_what_is_accepted_is_pinned_and_unsettled_until_a_call_is_agreed_to(
        self, store: ApprovalStore
    ) -> None:
        held = await a_change(store)
        assert await store.unsettled(READ) is None
        assert await store.accept(held)
        assert await store.held() == []
        assert await store.pin(READ, "h-after", "after") is None
        assert await store.unsettled(READ) == ("before", "after")
        await store.settle(READ)
        assert await store.unsettled(READ) is None

    async def test_what_is_refused_is_held_again(self, store: ApprovalStore) -> None:
        held = await a_change(store)
        assert await store.refuse(held)
        assert await store.held() == []
        assert (await a_change(store)).id != held.id

    async def test_who_wanted_a_held_tool_is_known_until_it_is_decided(
        self, store: ApprovalStore
    ) -> None:
        held = await a_change(store)
        await store.wanted(held, 7, 70)
        await store.wanted(held, 7, 70)
        await store.wanted(held, 8, 80)
        assert sorted(await store.clients(held)) == [(7, 70), (8, 80)]
        await store.accept(held)
        assert await store.clients(held) == []

    # Its end

    async def test_a_closed_store_is_a_fault_and_not_an_approval(
        self, store: ApprovalStore
    ) -> None:
        await store.post(a_question("ours"), "")
        await store.aclose()
        with pytest.raises(Fault) as caught:
            await store.answer("ours")
        assert (caught.value.code, caught.value.reason) == (
            FaultCode.UNAVAILABLE,
            "approvals-unavailable",
        )
