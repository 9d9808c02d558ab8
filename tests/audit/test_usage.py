"""How tools are used is counted from the audit log, once, and survives whatever happens to it."""

import time
from pathlib import Path
from typing import Any

import pytest

from switchboard.audit.store import SqliteAudit
from switchboard.audit.usage.count import UsageCount, UsedTool
from switchboard.core.audit import AuditRecord, stamp

SECOND = 1_000_000_000
ADD = UsedTool("echo", "echo_suite", "add")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    return home


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


async def write(home: Path, *records: AuditRecord) -> None:
    log = SqliteAudit(str(home))
    for each in records:
        await log.append(each)
    await log.aclose()


async def test_calls_errors_times_and_tokens_are_counted(home: Path) -> None:
    calls = [record(ms=ms) for ms in (*[10] * 95, *[1_000] * 5)]
    await write(home, *calls, record(status="tool_error", ms=10), record(status="cancelled", ms=10))
    [(tool, use)] = UsageCount(str(home)).last_days(30).items()
    assert tool == ADD
    assert (use.calls, use.errors, use.tokens) == (102, 1, 10_200)
    assert use.took_ms(0.5) == pytest.approx(10, rel=0.06)
    assert use.took_ms(0.99) == pytest.approx(1_000, rel=0.06)


async def test_introspections_and_questions_are_no_calls(home: Path) -> None:
    await write(
        home,
        record("echo_suite"),
        record(event="tool.call.started"),
        record(event="approval.requested"),
        record(event="tool.call.refused"),
    )
    assert UsageCount(str(home)).last_days(30) == {}


async def test_what_was_counted_is_not_counted_again(home: Path) -> None:
    await write(home, record(), record())
    assert UsageCount(str(home)).last_days(30)[ADD].calls == 2
    await write(home, record(), record("echo"))
    found = UsageCount(str(home)).last_days(30)
    assert {tool.tool: use.calls for tool, use in found.items()} == {"add": 3, "echo": 1}
    assert UsageCount(str(home)).last_days(30) == found


async def test_only_the_last_days_are_told(home: Path) -> None:
    await write(home, record("old", days_ago=40), record("recent", days_ago=20), record("new"))
    counted = UsageCount(str(home))
    assert {tool.tool for tool in counted.last_days(30)} == {"recent", "new"}
    assert {tool.tool for tool in counted.last_days(60)} == {"old", "recent", "new"}
    assert {tool.tool for tool in counted.last_days(1)} == {"new"}


@pytest.mark.parametrize("damage", [b"", b'{"through": 9', b'{"through": 99999, "days": {}}'])
async def test_a_count_that_was_lost_or_is_of_another_log_is_made_again(
    home: Path, damage: bytes
) -> None:
    await write(home, record(), record())
    found = UsageCount(str(home)).last_days(30)
    (home / "cache" / "usage.json").write_bytes(damage)
    assert UsageCount(str(home)).last_days(30) == found


async def test_the_count_is_private_and_holds_names_and_numbers_only(home: Path) -> None:
    await write(home, record(client="Somebody", workspace="/secret/place", args_sha256="abcdef"))
    UsageCount(str(home)).last_days(30)
    path = home / "cache" / "usage.json"
    assert path.stat().st_mode & 0o077 == 0
    text = path.read_text("utf-8")
    assert "add" in text
    assert not any(word in text for word in ("Somebody", "secret", "abcdef"))


async def test_a_home_without_a_log_has_no_use(home: Path) -> None:
    assert UsageCount(str(home)).last_days(30) == {}
    assert UsageCount(str(home / "nowhere")).last_days(30) == {}
