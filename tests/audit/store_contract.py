"""What every audit store keeps to, whatever its engine.

A test module of an engine inherits from `AuditStoreContract` and says how a store is made.
"""

from abc import ABC, abstractmethod

import pytest

from audit.ground import a_record
from switchboard.audit.filter import record_in
from switchboard.core.audit import AuditMark, AuditRecord, AuditRow
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.stores import AuditStore

PATIENCE = 10.0


async def rows_of(store: AuditStore) -> list[AuditRow]:
    """Give the records that were handed in; an engine may add some of its own."""
    return [row async for row in store.read() if row.call]


async def calls(store: AuditStore) -> list[str]:
    return [row.call for row in await rows_of(store)]


class AuditStoreContract(ABC):
    """Everything that the gates and the command line rely on."""

    @abstractmethod
    def make(self) -> AuditStore:
        """Make a store over the place of this test."""

    @pytest.fixture
    def store(self) -> AuditStore:
        return self.make()

    async def test_a_record_is_there_when_append_returns(self, store: AuditStore) -> None:
        record = a_record("now", status="ok", note="as it was")
        await store.append(record)
        [row] = await rows_of(store)
        assert record_in(row) == record

    async def test_records_keep_their_order_however_they_are_handed_in(
        self, store: AuditStore
    ) -> None:
        store.post(a_record("one"))
        store.post(lambda: a_record("two"))
        await store.append(lambda: a_record("three"))
        store.post(a_record("four"))
        await store.flush()
        assert await calls(store) == ["one", "two", "three", "four"]

    async def test_what_was_only_posted_is_found_at_once(self, store: AuditStore) -> None:
        store.post(a_record("posted"))
        assert [row.call for row in await store.find("posted")] == ["posted"]
        store.post(a_record("another"))
        assert await calls(store) == ["posted", "another"]

    async def test_a_payload_is_told_by_a_salted_hash_in_records(self, store: AuditStore) -> None:
        def make(call: str, payload: bytes) -> AuditRecord:
            return a_record(call, args_sha256=store.fingerprint(payload))

        for call, payload in (("one", b"a"), ("two", b"a"), ("three", b"b")):
            await store.append(lambda call=call, payload=payload: make(call, payload))
        one, two, three = map(record_in, await rows_of(store))
        assert one is not None
        assert two is not None
        assert three is not None
        assert one.args_sha256 == two.args_sha256 != three.args_sha256
        assert one.args_sha256

    async def test_it_is_read_from_both_ends_and_from_a_number_on(self, store: AuditStore) -> None:
        for number in range(5):
            await store.append(a_record(f"c{number}"))
        rows = await rows_of(store)
        backwards = [row async for row in store.read(newest_first=True) if row.call]
        assert backwards == rows[::-1]
        later = [row.call async for row in store.read(after=rows[2].seq) if row.call]
        assert later == ["c3", "c4"]

    async def test_each_record_holds_on_to_the_one_before(self, store: AuditStore) -> None:
        for number in range(3):
            await store.append(a_record(f"c{number}"))
        rows = await rows_of(store)
        assert [row.prev for row in rows[1:]] == [row.hash for row in rows[:-1]]
        assert [row.seq for row in rows] == sorted({row.seq for row in rows})

    async def test_a_call_is_found_by_its_id_and_a_record_by_its_number(
        self, store: AuditStore
    ) -> None:
        await store.append(a_record("mine", status=""))
        await store.append(a_record("other"))
        await store.append(a_record("mine", status="ok"))
        found = await store.find("mine")
        assert [row.call for row in found] == ["mine", "mine"]
        assert await store.find(str(found[1].seq)) == found[1:]
        assert await store.find("nobody") == []

    async def test_a_whole_log_is_told_to_be_whole_and_one_without_an_expected_place_is_not(
        self, store: AuditStore
    ) -> None:
        await store.append(a_record("one"))
        found = await store.verify()
        assert (found.is_whole, found.lost) == (True, 0)
        await store.append(a_record("two"))
        noted = AuditMark(seq=found.last, hash=found.hash[:16])
        assert (await store.verify(expect=noted)).is_whole
        elsewhere = AuditMark(seq=found.last, hash="0" * 16)
        assert not (await store.verify(expect=elsewhere)).is_whole

    async def test_what_was_posted_is_there_after_the_end_and_nothing_comes_later(
        self, store: AuditStore
    ) -> None:
        store.post(a_record("last"))
        await store.aclose()
        with pytest.raises(Fault) as caught:
            await store.append(a_record("too late"))
        assert caught.value.code is FaultCode.UNAVAILABLE
        assert await calls(self.make_again(store)) == ["last"]

    def make_again(self, store: AuditStore) -> AuditStore:
        """Give a store over the same place; one in memory is the same."""
        del store
        return self.make()
