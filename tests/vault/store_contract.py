"""What every vault keeps to, whatever its engine.

A test module of an engine inherits from `VaultStoreContract` and says how a store is made.
"""

import threading
import time
from abc import ABC, abstractmethod

import pytest

from switchboard.core.faults import Fault, FaultCode
from switchboard.core.stores import VaultStore
from switchboard.vault.values import LONGEST_BYTES

TOKEN = "mcp/github/env/GITHUB_TOKEN"
HEADER = "mcp/linear/header/Authorization"
LOGIN = "oauth/https%3A~~issuer.example/tokens"
# Longer than a line, with everything that a format could stumble over.
ODD = 'a"b\\c\nd\te\u00e9\u4e16\U0001f511 ${X} %s {} \x7f' + "x" * 5_000


class VaultStoreContract(ABC):
    """Everything that whoever looks secrets up relies on."""

    @abstractmethod
    def make(self) -> VaultStore:
        """Make a store over the place of this test; a second one sees the same."""

    @pytest.fixture
    def store(self) -> VaultStore:
        return self.make()

    def test_a_value_comes_back_as_it_was_put(self, store: VaultStore) -> None:
        store.put(TOKEN, ODD)
        assert store.get(TOKEN) == ODD

    def test_what_is_not_there_is_no_fault(self, store: VaultStore) -> None:
        assert store.get(TOKEN) is None
        assert store.delete(TOKEN) is False
        assert store.entries() == []

    def test_a_later_value_takes_the_place_of_an_earlier_one(self, store: VaultStore) -> None:
        store.put(TOKEN, "old")
        store.put(TOKEN, "new")
        assert store.get(TOKEN) == "new"
        assert [entry.reference for entry in store.entries()] == [TOKEN]

    def test_what_was_deleted_is_gone_and_the_rest_is_not(self, store: VaultStore) -> None:
        store.put(TOKEN, "one")
        store.put(HEADER, "two")
        assert store.delete(TOKEN) is True
        assert (store.get(TOKEN), store.get(HEADER)) == (None, "two")
        assert store.delete(TOKEN) is False
        store.put(TOKEN, "three")
        assert store.get(TOKEN) == "three"

    def test_entries_come_by_reference_and_tell_no_value(self, store: VaultStore) -> None:
        before = time.time()
        for reference in (LOGIN, TOKEN, HEADER):
            store.put(reference, f"value of {reference}")
        entries = store.entries()
        assert [entry.reference for entry in entries] == sorted((LOGIN, TOKEN, HEADER))
        assert "value of" not in repr(entries)
        for entry in entries:
            assert before - 2 <= entry.created_at <= entry.changed_at <= time.time() + 2

    def test_a_change_keeps_the_day_of_its_creation(self, store: VaultStore) -> None:
        store.put(TOKEN, "one")
        [first] = store.entries()
        store.put(TOKEN, "two")
        [second] = store.entries()
        assert second.created_at == first.created_at
        assert second.changed_at >= first.changed_at

    def test_a_second_store_sees_what_the_first_one_wrote(self, store: VaultStore) -> None:
        store.put(TOKEN, "one")
        other = self.make()
        assert other.get(TOKEN) == "one"
        store.put(TOKEN, "two")
        assert other.get(TOKEN) == "two"
        assert other.delete(TOKEN) is True
        assert store.get(TOKEN) is None

    @pytest.mark.parametrize("name", ["", "/", "a//b", "../up", "a/../b", "a/./b", "a b", "a\nb"])
    def test_a_name_that_leads_elsewhere_is_refused(self, store: VaultStore, name: str) -> None:
        with pytest.raises(Fault) as caught:
            store.put(name, "value")
        assert caught.value.code is FaultCode.INVALID_ARGUMENT
        assert store.entries() == []

    def test_an_empty_value_is_refused(self, store: VaultStore) -> None:
        with pytest.raises(Fault) as caught:
            store.put(TOKEN, "")
        assert caught.value.code is FaultCode.INVALID_ARGUMENT
        assert store.get(TOKEN) is None

    @pytest.mark.parametrize("value", ["\u4e16" * (LONGEST_BYTES // 3 + 1), "half \ud83d"])
    def test_a_value_that_is_too_long_or_no_text_is_refused(
        self, store: VaultStore, value: str
    ) -> None:
        """Its bytes count, not its characters."""
        with pytest.raises(Fault) as caught:
            store.put(TOKEN, value)
        assert (caught.value.reason, bool(caught.value.hint)) == ("secret-invalid", True)
        assert store.get(TOKEN) is None

    def test_threads_that_write_at_once_lose_nothing(self, store: VaultStore) -> None:
        def write(number: int) -> None:
            for turn in range(5):
                store.put(f"mcp/s{number}/env/K{turn}", f"{number}.{turn}")

        threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        found = {entry.reference: store.get(entry.reference) for entry in store.entries()}
        assert found == {
            f"mcp/s{number}/env/K{turn}": f"{number}.{turn}"
            for number in range(4)
            for turn in range(5)
        }

    def test_whoever_keeps_a_value_learns_that_it_may_have_changed(self, store: VaultStore) -> None:
        store.put(TOKEN, "one")
        assert store.mark() == store.mark()
        before = store.mark()
        self.make().put(TOKEN, "two")
        self.time_passes()
        assert store.mark() != before

    def time_passes(self) -> None:  # noqa: B027 - most engines know at once
        """For an engine that looks from time to time."""

    def test_a_closed_store_lets_go_and_can_be_opened_anew(self, store: VaultStore) -> None:
        store.put(TOKEN, "one")
        store.close()
        assert self.make().get(TOKEN) == "one"
