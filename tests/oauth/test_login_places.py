"""What processes that share logins say to each other: by files, and by the database of a team."""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Generator
from pathlib import Path

import pytest

from support.postgres import PATIENCE, Cluster
from switchboard.core.faults import Fault
from switchboard.oauth.login_place import LoginFiles, LoginPlace
from switchboard.oauth.postgres_logins import LOGINS, PostgresLogins
from switchboard.postgres.address import DatabaseAddress

ENTRY, OTHER = "oauth/entry/one", "oauth/entry/two"


class LoginPlaceContract(ABC):
    """Everything that held logins rely on. Two of one place stand for two processes."""

    @abstractmethod
    def make(self) -> LoginPlace: ...

    def test_a_change_is_known_at_once_to_who_made_it_and_soon_to_others(self) -> None:
        ours, theirs = self.make(), self.make()
        for _ in range(3):
            before = ours.stamp(), theirs.stamp()
            ours.changed()
            assert ours.stamp() != before[0]
            end = time.monotonic() + PATIENCE
            while theirs.stamp() == before[1]:
                assert time.monotonic() < end
                time.sleep(0.005)

    async def test_one_login_is_held_by_one_and_another_by_another(self) -> None:
        ours, theirs = self.make(), self.make()
        order: list[str] = []

        async def second() -> None:
            async with theirs.locked("oauth/grant/a"):
                order.append("second")

        async with ours.locked("oauth/grant/a"):
            async with asyncio.timeout(PATIENCE), theirs.locked("oauth/grant/b"):
                order.append("beside")
            waiting = asyncio.ensure_future(second())
            # It has had the time to look more than once.
            await asyncio.wait({waiting}, timeout=0.2)
            order.append("first")
        async with asyncio.timeout(PATIENCE):
            await waiting
        assert order == ["beside", "first", "second"]

    async def test_whoever_fails_lets_go(self) -> None:
        ours, theirs = self.make(), self.make()
        with pytest.raises(ZeroDivisionError):
            async with ours.locked("oauth/grant/a"):
                raise ZeroDivisionError
        async with asyncio.timeout(PATIENCE), theirs.locked("oauth/grant/a"):
            """It is free."""

    def test_what_is_wanted_is_remembered_by_all(self) -> None:
        ours, theirs = self.make(), self.make()
        assert not theirs.is_wanted(ENTRY)
        ours.note_wanted(ENTRY)
        ours.note_wanted(ENTRY)
        assert theirs.is_wanted(ENTRY)
        assert not theirs.is_wanted(OTHER)


class TestLoginFiles(LoginPlaceContract):
    """The files of a home."""

    @pytest.fixture(autouse=True)
    def _home(self, tmp_path: Path) -> None:
        tmp_path.chmod(0o700)
        self.home = str(tmp_path)

    def make(self) -> LoginPlace:
        return LoginFiles(self.home)


class TestPostgresLogins(LoginPlaceContract):
    """The database of a team."""

    @pytest.fixture(autouse=True)
    def _database(self, postgres: Cluster) -> Generator[None]:
        with postgres.database([LOGINS]) as address:
            self.address = address
            self.made: list[PostgresLogins] = []
            yield
            for place in self.made:
                place.close()

    def make(self) -> LoginPlace:
        place = PostgresLogins(self.address)
        self.made.append(place)
        return place


async def test_a_gateway_whose_connection_ends_holds_no_login_any_more(postgres: Cluster) -> None:
    with postgres.database([LOGINS]) as address:
        ours, theirs = PostgresLogins(address), PostgresLogins(address)
        async with ours.locked("oauth/grant/a"):
            postgres.cut(address)
            async with asyncio.timeout(PATIENCE), theirs.locked("oauth/grant/a"):
                """Killed processes end their connections as well."""
        ours.close()
        theirs.close()


def test_without_the_database_there_is_a_fault(postgres: Cluster) -> None:
    with pytest.raises(Fault) as caught:
        PostgresLogins(DatabaseAddress(f"postgresql://postgres@127.0.0.1:{postgres.port}/nowhere"))
    assert caught.value.reason == "logins-unusable"
