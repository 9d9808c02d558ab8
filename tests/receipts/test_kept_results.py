"""What every place of kept results keeps to: the files of a home, and the database of a team."""

import time
from abc import ABC, abstractmethod
from collections.abc import Generator
from pathlib import Path

import msgspec
import pytest
from msgspec import Raw

from support.postgres import Cluster
from switchboard.core.calls.receipts import KeptOutcome
from switchboard.core.stores import KeptResults
from switchboard.receipts import result_files
from switchboard.receipts.postgres_results import RESULTS, PostgresResults
from switchboard.receipts.result_files import ResultFiles

HOUR_S = 3600.0
MOST, MOST_BYTES = 4, 9_000


def kept(number: int, result: bytes = b'{"content":[]}', until: float = HOUR_S) -> KeptOutcome:
    now = time.time()
    return KeptOutcome(
        id=f"abc-{number}",
        session="abc",
        tool="post",
        came_at=now,
        ended_at=now,
        until=now + until,
        status="ok",
        result=Raw(result),
        size=len(result),
    )


def names(results: KeptResults) -> list[str]:
    return [each.id for each in results.all()]


class KeptResultsContract(ABC):
    """Everything that the book of calls relies on. Two of one place stand for two processes."""

    @abstractmethod
    def make(self) -> KeptResults:
        """Make one of the place of this test, which keeps at most `MOST` and `MOST_BYTES`."""

    @pytest.fixture
    def results(self) -> KeptResults:
        made = self.make()
        made.keep_s = HOUR_S
        return made

    def test_what_is_kept_is_found_by_all_until_somebody_has_it(self, results: KeptResults) -> None:
        assert results.put(kept(1, b'{"content":["\\u0000"]}'))
        other = self.make()
        found = other.get("abc-1")
        assert found is not None
        assert (found.result, found.tool) == (Raw(b'{"content":["\\u0000"]}'), "post")
        [listed] = other.all()
        assert (listed.id, listed.result) == ("abc-1", None)
        other.drop("abc-1")
        assert results.get("abc-1") is None

    def test_a_later_outcome_takes_the_place_of_an_earlier_one(self, results: KeptResults) -> None:
        for answer in (b"1", b"2"):
            assert results.put(kept(1, answer))
        found = results.get("abc-1")
        assert found is not None
        assert found.result == Raw(b"2")

    def test_of_too_many_the_oldest_are_let_go(self, results: KeptResults) -> None:
        for number in range(MOST + 2):
            assert results.put(kept(number))
            self.a_moment_passes()
        assert names(results) == [f"abc-{number}" for number in range(2, MOST + 2)]

    def test_of_too_much_the_oldest_is_let_go(self, results: KeptResults) -> None:
        for number in range(3):
            assert results.put(kept(number, b'"%b"' % (b"x" * 4_000)))
            self.a_moment_passes()
        assert names(results) == ["abc-1", "abc-2"]

    def test_what_is_over_is_not_told(self, results: KeptResults) -> None:
        for number, until in ((1, -1.0), (2, HOUR_S)):
            assert results.put(kept(number, until=until))
        assert self.make().get("abc-1") is None
        assert names(self.make()) == ["abc-2"]

    def test_who_keeps_nothing_puts_nothing_and_lets_go_of_all(self, results: KeptResults) -> None:
        assert results.put(kept(1))
        self.a_moment_passes()
        results.keep_s = 0.0
        assert not results.put(kept(2))
        assert results.tidy() == 0
        assert names(results) == []

    @pytest.mark.parametrize("name", ["../abc-1", "abc-1/..", "", "abc", "/x", "abc-1\0"])
    def test_what_is_no_id_is_not_kept(self, results: KeptResults, name: str) -> None:
        assert not results.put(msgspec.structs.replace(kept(1), id=name))
        assert results.get(name) is None
        results.drop(name)
        assert names(results) == []

    def a_moment_passes(self) -> None:
        """Clocks of files may be coarse; the next one is later than this."""
        time.sleep(0.02)


class TestResultFiles(KeptResultsContract):
    """The files of a home."""

    @pytest.fixture(autouse=True)
    def _home(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        tmp_path.chmod(0o700)
        self.home = str(tmp_path)
        monkeypatch.setattr(result_files, "MOST_RESULTS", MOST)
        monkeypatch.setattr(result_files, "MOST_BYTES", MOST_BYTES)

    def make(self) -> KeptResults:
        return ResultFiles(self.home)


class TestPostgresResults(KeptResultsContract):
    """The database of a team."""

    @pytest.fixture(autouse=True)
    def _database(self, postgres: Cluster) -> Generator[None]:
        with postgres.database([RESULTS]) as address:
            self.address = address
            self.made: list[PostgresResults] = []
            yield
            for results in self.made:
                results.close()

    def make(self) -> KeptResults:
        results = PostgresResults(self.address, most=MOST, most_bytes=MOST_BYTES)
        self.made.append(results)
        return results


def test_without_the_database_nothing_is_kept_and_nothing_fails(postgres: Cluster) -> None:
    with postgres.database() as empty:
        results = PostgresResults(empty)
        results.keep_s = HOUR_S
        assert not results.put(kept(1))
        assert (results.get("abc-1"), results.all(), results.tidy()) == (None, [], 0)
        results.drop("abc-1")
        results.close()
