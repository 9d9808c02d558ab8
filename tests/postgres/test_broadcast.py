"""Processes of a team that tell each other of changes."""

import threading
from collections.abc import Generator, Sequence

import pytest

from support.postgres import Cluster
from support.processes import wait_until_true
from switchboard.postgres.address import DatabaseAddress
from switchboard.postgres.broadcast import Broadcast, News


class Ear:
    """One process, and what it heard: each notice apart."""

    def __init__(self, address: DatabaseAddress, name: str) -> None:
        self.heard: list[Sequence[News] | None] = []
        self._lock = threading.Lock()
        self.mouth = Broadcast(address, "news", name, self._hear, failure=RuntimeError)

    def _hear(self, news: Sequence[News] | None) -> None:
        with self._lock:
            self.heard.append(news)

    @property
    def words(self) -> list[News]:
        return [each for news in self.heard for each in news or ()]


@pytest.fixture
def address(postgres: Cluster) -> Generator[DatabaseAddress]:
    with postgres.database() as address:
        yield address


@pytest.fixture
def pair(address: DatabaseAddress) -> Generator[tuple[Ear, Ear]]:
    ears = Ear(address, "one"), Ear(address, "two")
    yield ears
    for ear in ears:
        ear.mouth.close()


def test_a_storm_becomes_few_notices_that_fit_and_nothing_is_lost(pair: tuple[Ear, Ear]) -> None:
    one, two = pair
    told: list[News] = [("updated", "server", f"file:///{number:0500}") for number in range(200)]
    for _ in range(50):
        for each in told:
            one.mouth.tell(each)
    wait_until_true(lambda: set(two.words) == set(told))
    # Each notice holds 15 of them: a few rounds at most, not one for each time it was said.
    assert len(two.heard) < 100
    assert one.heard == []


@pytest.mark.parametrize("what", ["many", "long"])
def test_more_than_fits_is_everything(pair: tuple[Ear, Ear], what: str) -> None:
    one, two = pair
    many = [("updated", "server", str(number)) for number in range(5_000)]
    for each in many if what == "many" else [("updated", "server", "x" * 9_000)]:
        one.mouth.tell(each)
    wait_until_true(lambda: None in two.heard)


def test_who_was_cut_off_takes_everything_for_changed_and_what_waited_is_told(
    pair: tuple[Ear, Ear], address: DatabaseAddress, postgres: Cluster
) -> None:
    one, two = pair
    postgres.crash()
    try:
        one.mouth.tell(("tools", "server"))
    finally:
        postgres.start()
    wait_until_true(lambda: ("tools", "server") in two.words or None in two.heard)
    wait_until_true(lambda: None in two.heard)
    one.mouth.tell(("prompts", "server"))
    wait_until_true(lambda: ("prompts", "server") in two.words)
    postgres.run("SELECT pg_notify('news', 'nonsense')", address)
    wait_until_true(lambda: two.heard.count(None) > 1)
