"""Whoever reads a terminal reads times by their own clock, in every command that shows some."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.audit import MemoryAudit
from switchboard.cli.printer import Printer
from switchboard.cli.report import ErrorReport, Report
from switchboard.cli.verbs.agents.runs import ListedRun, RunsReport
from switchboard.cli.verbs.events import EventReport, EventsReport
from switchboard.cli.verbs.parts.audit_reports import AuditReport, PlacedRecord
from switchboard.cli.verbs.parts.runs.run_lines import event_lines
from switchboard.cli.verbs.servers.logs import ServerLogReport, ShownLogLine
from switchboard.control.call_desk import kept_result
from switchboard.control.requests import ResultRequest
from switchboard.core.audit import AuditRecord
from switchboard.core.faults import Fault
from switchboard.core.text.stamps import stamped
from switchboard.receipts.result_files import ResultFiles
from switchboard.runs.run import RunEvent
from switchkit.cli.style import Style

# 12:34:56 in UTC, of a day that nobody who runs this has.
AT = 1_750_000_000.0 - 1_750_000_000.0 % 86_400 + 12 * 3600 + 34 * 60 + 56
STAMP = stamped(AT)
RECORD = PlacedRecord(seq=1, hash="", record=AuditRecord(ts=STAMP, event="tool.call.ended"))
EVENT = {"at": AT, "event": "call.ended"}
REPORTS: dict[str, Report] = {
    "audit": AuditReport(records=(RECORD,)),
    "events": EventsReport(events=(EVENT,)),
    "events --follow": EventReport(event=EVENT),
    "logs": ServerLogReport(name="time", log=(ShownLogLine(time=STAMP, pid=1, text="hello"),)),
}
# What the sign means is the other way round there: these are three hours ahead, and nine behind.
ZONES = {"Etc/GMT-3": "15:34:56", "Etc/GMT+9": "03:34:56"}


@pytest.fixture(params=ZONES)
def shown(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """How the moment reads in a zone, while that is the zone of the process."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield ZONES[request.param]
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("words", REPORTS)
def test_times_of_a_command_are_local(words: str, shown: str) -> None:
    [line] = REPORTS[words].lines(Style())
    assert shown in line
    assert "12:34:56" not in line


async def test_times_of_a_fault_are_local(
    shown: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also of one that a daemon raised, which has a clock of its own."""
    audit = MemoryAudit()
    record = AuditRecord(
        ts=STAMP, event="tool.call.finished", tool="t", correlation_id="c", ended=STAMP
    )
    await audit.append(record)
    with pytest.raises(Fault) as raised:
        await kept_result(ResultFiles(str(tmp_path)), audit, ResultRequest(id="c"))
    Printer({}, as_json=False).show(ErrorReport.of(raised.value))
    told = capsys.readouterr().err
    assert shown in told
    assert "12:34:56" not in told
    assert STAMP in str(ErrorReport.of(raised.value).details)


def test_times_of_runs_are_local(shown: str) -> None:
    event = RunEvent(run_id="r-1", number=1, at=AT, data='{"event": "message", "text": "hello"}')
    assert next(event_lines(event, Style())).startswith(shown)
    # Late in the evening of one zone it is the next day in another.
    late = stamped(AT + 10 * 3600)
    run = ListedRun(
        id="r-1", agent="a", engine="e", state="completed", task="t", workspace="/", created_at=late
    )
    *_, line = RunsReport(runs=(run,)).lines(Style())
    day = time.strftime("%m-%d", time.localtime(AT + 10 * 3600))
    assert day in line
    assert (day == time.strftime("%m-%d", time.gmtime(AT + 10 * 3600))) == (shown < "12")
