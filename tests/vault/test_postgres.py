"""The vault of a team: the contract, secrets that change, and what lies in the database."""

import time
from collections.abc import Generator

import pytest

from support.postgres import PATIENCE, Cluster
from switchboard.core.faults import Fault
from switchboard.core.stores import VaultStore
from switchboard.postgres.address import DatabaseAddress
from switchboard.vault.keys.team_key import TeamKey, read_team_keys
from switchboard.vault.postgres_vault import VAULT, PostgresVault
from vault.store_contract import HEADER, TOKEN, VaultStoreContract

OLD, NEW = (TeamKey(letter * 32) for letter in (b"o", b"n"))
SECRET = "canary of a team"


@pytest.fixture
def address(postgres: Cluster) -> Generator[DatabaseAddress]:
    with postgres.database([VAULT]) as address:
        yield address


class TestPostgresVault(VaultStoreContract):
    """One table; each store stands for a gateway."""

    @pytest.fixture(autouse=True)
    def _database(self, address: DatabaseAddress) -> Generator[None]:
        self.address = address
        self.made: list[PostgresVault] = []
        yield
        for store in self.made:
            store.close()

    def make(self) -> VaultStore:
        store = PostgresVault(self.address, [OLD])
        self.made.append(store)
        return store

    def time_passes(self) -> None:
        """Until the first store has heard of what the second one did."""
        first, second = self.made
        # Its own opening, its own change, and what it heard of both changes.
        end = time.monotonic() + PATIENCE
        while first.mark() != 4:
            assert time.monotonic() < end
            time.sleep(0.01)
        assert second.get(TOKEN) == first.get(TOKEN)


@pytest.fixture
def vault(address: DatabaseAddress) -> Generator[PostgresVault]:
    store = PostgresVault(address, [OLD])
    yield store
    store.close()


def test_no_value_is_readable_in_the_database(
    vault: PostgresVault, address: DatabaseAddress, postgres: Cluster
) -> None:
    vault.put(TOKEN, SECRET)
    assert vault.get(TOKEN) == SECRET
    dump = repr(postgres.run("SELECT * FROM switchboard.vault_entries", address))
    assert TOKEN in dump
    assert "canary" not in dump


@pytest.mark.parametrize(
    "change",
    [
        "value = set_byte(value, 0, 255 - get_byte(value, 0))",
        "nonce = '\\x00'",
        "created_at = created_at - 1",
        "changed_at = changed_at + 1",
        # The value of another reference.
        f"(nonce, value) = (SELECT nonce, value FROM vault_entries WHERE reference = '{HEADER}')",
    ],
)
def test_a_value_that_was_changed_or_moved_is_found_out(
    vault: PostgresVault, address: DatabaseAddress, postgres: Cluster, change: str
) -> None:
    vault.put(TOKEN, SECRET)
    vault.put(HEADER, "canary of another")
    postgres.run(
        "SET search_path = switchboard;"
        f" UPDATE vault_entries SET {change} WHERE reference = '{TOKEN}'",
        address,
    )
    with pytest.raises(Fault) as caught:
        vault.get(TOKEN)
    assert caught.value.reason == "vault-damaged"
    assert vault.get(HEADER) == "canary of another"


def test_a_team_changes_its_secret_without_a_moment_in_which_something_cannot_be_read(
    vault: PostgresVault, address: DatabaseAddress
) -> None:
    vault.put(TOKEN, SECRET)
    # First every gateway learns the new one, then it becomes the first, then the old one goes.
    both, turned = PostgresVault(address, [OLD, NEW]), PostgresVault(address, [NEW, OLD])
    new = PostgresVault(address, [NEW])
    assert both.get(TOKEN) == turned.get(TOKEN) == SECRET
    turned.put(HEADER, "canary of later")
    assert both.get(HEADER) == "canary of later"
    with pytest.raises(Fault) as caught:
        new.get(TOKEN)
    assert caught.value.reason == "vault-key-wrong"
    [before] = [entry for entry in turned.entries() if entry.reference == TOKEN]
    assert turned.close_with_first_key() == 1
    assert turned.close_with_first_key() == 0
    assert (new.get(TOKEN), new.get(HEADER)) == (SECRET, "canary of later")
    [after] = [entry for entry in turned.entries() if entry.reference == TOKEN]
    assert (after.created_at, after.changed_at) == (before.created_at, before.changed_at)
    for store in (both, turned, new):
        store.close()


def test_a_secret_shows_nothing_and_makes_another_key_for_each_purpose() -> None:
    [first, second] = read_team_keys(f"{'canary' * 6}\n\n{'x' * 32}\n")
    assert "canary" not in repr(first)
    made = {key.derived(purpose) for key in (first, second) for purpose in ("vault", "audit")}
    assert (len(made), first.id != second.id) == (4, True)
    again = read_team_keys("canary" * 6)[0]
    assert again.derived("vault") == first.derived("vault")


@pytest.mark.parametrize("text", ["", "\n", "canary-too-short", f"{'x' * 32}\ncanary"])
def test_a_secret_that_is_too_short_is_refused_without_being_repeated(text: str) -> None:
    with pytest.raises(Fault) as caught:
        read_team_keys(text)
    assert caught.value.reason == "team-key-invalid"
    assert "canary" not in f"{caught.value.message} {caught.value.hint} {caught.value.private}"


def test_while_the_database_is_away_there_is_a_fault_and_no_empty_value(postgres: Cluster) -> None:
    with postgres.database([VAULT]) as address:
        store = PostgresVault(address, [OLD])
        store.put(TOKEN, SECRET)
        postgres.crash()
        try:
            with pytest.raises(Fault) as caught:
                store.get(TOKEN)
            assert caught.value.reason == "vault-unavailable"
        finally:
            postgres.start()
        assert store.get(TOKEN) == SECRET
        store.close()
