"""`switchboard audit`: what was done, by whom, with whose leave, and whether all of it is there."""

import os
import re
import select
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import msgspec

from switchboard.audit.filter import record_in
from switchboard.cli.report import Report, Silent
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.audit_reports import (
    AuditExportReport,
    AuditLineReport,
    AuditRecordReport,
    AuditReport,
    AuditShowReport,
    AuditVerifyReport,
    PlacedRecord,
)
from switchboard.cli.verbs.parts.auditing.audit_log import audit_answer_to, audit_pages
from switchboard.control.answers import AuditRows
from switchboard.control.requests import (
    AuditRequest,
    VerifyRequest,
)
from switchboard.core.audit import Verification
from switchboard.core.faults import Fault, FaultCode
from switchkit.cli.usage import Option, Usage, UsageError, Word

_LAST = 20
# How soon a follower sees a new record.
_LOOK_S = 0.2
_MOST_OF_A_CALL = 100
_AGO = re.compile(r"(\d{1,6})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_EXPECTED = re.compile(r"(\d{1,18}):([0-9a-f]{8,64})")

USAGE = Usage(
    verb="audit",
    summary="Show what was called, who approved it and how it went; check that the log is whole.",
    words=(
        Word(name="ACTION", about="what to do", choices=("tail", "show", "verify", "export")),
        Word(
            name="WHICH", about="show: the id of a call, or the number of a record", optional=True
        ),
    ),
    options=(
        Option(name="follow", short="-f", about="tail: stay, and show each record as it comes"),
        Option(name="last", value="N", about=f"tail: how many records ({_LAST})"),
        Option(name="tool", value="NAME", about="only this tool or suite; `*` stands for anything"),
        Option(name="session", value="ID", about="only this session"),
        Option(name="since", value="WHEN", about="only from then on: `30m`, `2h`, `7d`, or a date"),
        Option(name="outcome", value="WORD", about="only `ok`, `denied`, `permission_denied`, …"),
        Option(name="expect", value="SEQ:HASH", about="verify: a place that was noted earlier"),
        Option(name="out", value="FILE", about="export: write there, not to stdout"),
    ),
    details=(
        "`verify` ends with code 1 and says what is wrong and where. It finds every change,\n"
        "removal and insertion by somebody without the key. Older copies of log, head and key,\n"
        "put back together, are found out only by `--expect`, or by a daemon that ran meanwhile.\n"
        "`export` writes one JSON object a line, as it was hashed."
    ),
    examples=(
        "switchboard audit tail -f --tool 'git*'",
        "switchboard audit show 3f9c2a71be-12",
        "switchboard audit export --since 7d --out week.jsonl",
    ),
)


def run(request: CommandRequest) -> Report:
    if request.arguments.word(0) != "show" and request.arguments.word(1):
        raise UsageError(f"`{request.arguments.word(1)}` is one word too many")
    match request.arguments.word(0):
        case "tail":
            return _tail(request)
        case "show":
            return _show(request)
        case "verify":
            return _verify(request)
        case _:
            return _export(request)


def _tail(request: CommandRequest) -> Report:
    last = request.arguments.one("last") or str(_LAST)
    if not last.isdigit():
        raise UsageError("`--last` must be a whole number")
    fields = _filter_fields(request)
    found = audit_answer_to(request, AuditRequest(last=int(last), **fields), AuditRows)
    newest = tuple(map(PlacedRecord.of, found.rows))
    if not request.arguments.has("follow"):
        return AuditReport(records=newest, unreadable=found.unreadable)
    for record in newest:
        request.show(AuditRecordReport.of(record))
    for text in found.unreadable:
        request.talk.say(text)
    while True:
        for page in audit_pages(request, fields, found.end):
            found = page
            for row in page.rows:
                request.show(AuditRecordReport.of(PlacedRecord.of(row)))
        # Neither the daemon nor the files tell that there is a new one.
        select.select([], [], [], _LOOK_S)


def _show(request: CommandRequest) -> Report:
    which = request.arguments.word(1)
    if not which:
        raise UsageError("`WHICH` is missing", "switchboard audit tail")
    found = audit_answer_to(request, AuditRequest(which=which), AuditRows)
    rows, told = found.rows, found.unreadable
    if not rows:
        raise Fault(
            FaultCode.NOT_FOUND,
            "no-record",
            f"no record of `{which}`" + (f" could be read: {told[0]}" if told else ""),
            hint="switchboard audit tail",
        )
    records = tuple(map(PlacedRecord.of, rows[-_MOST_OF_A_CALL:]))
    return AuditShowReport(records=records, unreadable=told)


def _verify(request: CommandRequest) -> Report:
    given = request.arguments.one("expect")
    wanted = VerifyRequest()
    if given is not None:
        match = _EXPECTED.fullmatch(given)
        if match is None:
            raise UsageError(
                "`--expect` takes what `switchboard audit verify` showed, such as `120:9f3c0a…`"
            )
        wanted = VerifyRequest(seq=int(match[1]), hash=match[2])
    request.talk.progress("checking every record …")
    return AuditVerifyReport.of(audit_answer_to(request, wanted, Verification))


def _export(request: CommandRequest) -> Report:
    told: dict[str, None] = {}
    lines = _lines(request, told)
    out = request.arguments.one("out")
    if out is None:
        for line in lines:
            request.show(line)
        for text in told:
            request.talk.say(text)
        return Silent()
    count = 0
    try:
        # Never through a link, and for nobody else to read.
        handle = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "wb") as file:
            for line in lines:
                file.write(msgspec.json.encode(line) + b"\n")
                count += 1
    except OSError as error:
        raise UsageError(f"`{out}` cannot be written ({error.strerror})") from None
    return AuditExportReport(path=out, records=count, unreadable=tuple(told))


def _lines(request: CommandRequest, told: dict[str, None]) -> Iterator[AuditLineReport]:
    """Lines of an export, oldest first. Without a filter they can be checked without us.

    What could not be read is noted, once however many pages it is missing from.
    """
    for page in audit_pages(request, _filter_fields(request)):
        told.update(dict.fromkeys(page.unreadable))
        for row in page.rows:
            if record_in(row) is not None:
                yield AuditLineReport.of(row)


def _filter_fields(request: CommandRequest) -> dict[str, str]:
    given = request.arguments
    return {
        "tool": given.one("tool") or "",
        "session": given.one("session") or "",
        "since": _since(given.one("since")),
        "outcome": given.one("outcome") or "",
    }


def _since(given: str | None) -> str:
    """A time as records write it."""
    if given is None:
        return ""
    if ago := _AGO.fullmatch(given):
        moment = datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    else:
        try:
            # Without a zone it is the user's own time.
            moment = datetime.fromisoformat(given).astimezone(UTC)
        except (ValueError, OverflowError):
            raise UsageError(
                f"`--since` cannot be `{given}`", "such as `30m`, `2h`, `7d` or `2026-11-16T09:00`"
            ) from None
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
