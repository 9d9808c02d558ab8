"""How tools are used is counted from the audit log, once, and survives whatever happens to it."""

import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from support.postgres import Cluster
from switchboard.audit.key import AuditKey
from switchboard.audit.postgres.counted_log import TeamCountedLog
from switchboard.audit.postgres.store import PostgresAudit
from switchboard.audit.postgres.tables import AUDIT
from switchboard.audit.store import SqliteAudit
from switchboard.audit.usage.count import UsageCount, UsedTool
from switchboard.core.audit import AuditRecord, stamp
from switchboard.postgres.address import DatabaseAddress

SECOND = 1_000_000_000
ADD = UsedTool("echo", "echo_suite", "add")


class Counted:
    """A home, and the log that is counted there: its own, or that of a team."""

    def __init__(self, home: Path, address: DatabaseAddress | None) -> None:
        self.home = home
        self._address = address
        self._logs: list[TeamCountedLog] = []

    @property
    def path(self) -> Path:
        return self.home / "cache" / ("usage-team.json" if self._address else "usage.json")

    def count(self) -> UsageCount:
        if self._address is None:
            return UsageCount(str(self.home))
        self._logs.append(TeamCountedLog(self._address))
        return UsageCount(str(self.home), self._logs[-1], name="team")

    async def write(self, *records: AuditRecord) -> None:
        logs = (
            [SqliteAudit(str(self.home))]
            if self._address is None
            else [PostgresAudit(self._address, chain, AuditKey(b"k" * 32)) for chain in "ab"]
        )
        for number, each in enumerate(records):
            # Two gateways write by turns.
            await logs[number % len(logs)].append(each)
        for log in logs:
            await log.aclose()

    def close(self) -> None:
        for log in self._logs:
            log.close()


@pytest.fixture(params=["home", "team"])
def book(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Counted]:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    if request.param == "home":
        yield Counted(home, None)
        return
    cluster: Cluster = request.getfixturevalue("postgres")
    with cluster.database([AUDIT]) as address:
        counted = Counted(home, address)
        yield counted
        counted.close()


def record(
    tool: str = "add", *, ms: int = 10, status: str = "ok", days_ago: int = 0, **more: Any
) -> AuditRecord:
    ended = time.time_ns() - days_ago * 86_400 * SECOND
    fields: dict[str, Any] = {"event": "tool.call.finished", "via": "echo_suite", **more}
    return AuditRecord(
        ts=stamp(ended),
        started=stamp(ended - ms * 1_000_000),
        ended=stamp(ended),
        tool=tool,
        server="echo",
        status=status,
        tokens_result=100,
        **fields,
    )


async def test_calls_errors_times_and_tokens_are_counted(book: Counted) -> None:
    calls = [record(ms=ms) for ms in (*[10] * 95, *[1_000] * 5)]
    await book.write(*calls, record(status="tool_error", ms=10), record(status="cancelled", ms=10))
    [(tool, use)] = book.count().last_days(30).items()
    assert tool == ADD
    assert (use.calls, use.errors, use.tokens) == (102, 1, 10_200)
    assert use.took_ms(0.5) == pytest.approx(10, rel=0.06)
    assert use.took_ms(0.99) == pytest.approx(1_000, rel=0.06)


async def test_introspections_and_questions_are_no_calls(book: Counted) -> None:
    await book.write(
        record("echo_suite"),
        record(event="tool.call.started"),
        record(event="approval.requested"),
        record(event="tool.call.refused"),
    )
    assert book.count().last_days(30) == {}


async def test_what_was_counted_is_not_counted_again(book: Counted) -> None:
    await book.write(record(), record())
    assert book.count().last_days(30)[ADD].calls == 2
    await book.write(record(), record("echo"))
    found = book.count().last_days(30)
    assert {tool.tool: use.calls for tool, use in found.items()} == {"add": 3, "echo": 1}
    assert book.count().last_days(30) == found


async def test_only_the_last_days_are_told(book: Counted) -> None:
    await book.write(record("old", days_ago=40), record("recent", days_ago=20), record("new"))
    counted = book.count()
    assert {tool.tool for tool in counted.last_days(30)} == {"recent", "new"}
    assert {tool.tool for tool in counted.last_days(60)} == {"old", "recent", "new"}
    assert {tool.tool for tool in counted.last_days(1)} == {"new"}


@pytest.mark.parametrize("damage", [b"", b'{"through": 9', b'{"through": 99999, "days": {}}'])
async def test_a_count_that_was_lost_or_is_of_another_log_is_made_again(
    book: Counted, damage: bytes
) -> None:
    await book.write(record(), record())
    found = book.count().last_days(30)
    book.path.write_bytes(damage)
    assert book.count().last_days(30) == found


async def test_the_count_is_private_and_holds_names_and_numbers_only(book: Counted) -> None:
    await book.write(record(client="Somebody", workspace="/secret/place", args_sha256="abcdef"))
    book.count().last_days(30)
    path = book.path
    assert path.stat().st_mode & 0o077 == 0
    text = path.read_text("utf-8")
    assert "add" in text
    assert not any(word in text for word in ("Somebody", "secret", "abcdef"))


async def test_a_home_without_a_log_has_no_use(book: Counted) -> None:
    assert book.count().last_days(30) == {}
    assert UsageCount(str(book.home / "nowhere")).last_days(30) == {}
