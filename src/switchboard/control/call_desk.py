"""What commands ask about calls: what runs, what ended, and what became of those given up."""

import fnmatch
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Raw, Struct

from switchboard.audit.filter import record_in
from switchboard.control.requests import CallsRequest, ResultRequest
from switchboard.core.audit import AuditRecord, AuditRow
from switchboard.core.calls.call import Call
from switchboard.core.calls.clock import CallTimes
from switchboard.core.calls.receipts import KeptOutcome, KeptOutcomes, Receipt
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.stores import AuditStore
from switchboard.receipts.book import CallBook

_NOTHING = Raw(b"null")
# How commands of ours call themselves, before the version.
_OURS = "switchboard "
# Of a call whose question was open when its daemon was ended.
NOT_RUN = "not run"


# All that ended lately, by their ids; of most there is nothing else to tell.
Recent = Callable[[], "Mapping[str, CallStatus]"]


class CallStatus(Struct, frozen=True, kw_only=True):
    """One call."""

    id: str
    session: str
    client: str = ""
    workspace: str = ""
    tool: str
    suite: str = ""
    # By the clock of the world; 0 for one that has not ended.
    came_at: float
    ended_at: float = 0.0
    # `queued`, `waiting` for a person, `working`; then `ok`, `error`, or the code of a fault;
    # `unknown` where the process that ran it was ended meanwhile, `not run` where a person was
    # being asked.
    state: str
    reason: str = ""
    # Where its time went: before the work, the work, persons who were asked.
    queue_s: float = 0.0
    work_s: float = 0.0
    human_s: float = 0.0
    # How far the answer got: `delivered`, `sent` and not seen to be read, `kept` for whoever asks,
    # `lost`, `none` where nobody is answered; empty while there is none, and where nobody looks
    # after it: of calls that only read, or were refused.
    answer: str = ""
    # Why its client waits no more: `cancelled`, `timed-out` or `left`.
    given_up: str = ""
    # The call whose answer it was given.
    repeats: str = ""

    @property
    def has_ended(self) -> bool:
        return bool(self.ended_at)


class CallList(Struct, frozen=True, kw_only=True):
    """Calls, the oldest first."""

    calls: tuple[CallStatus, ...] = ()


class ResultAnswer(Struct, frozen=True, kw_only=True):
    """What became of a call whose client has not got the answer."""

    call: CallStatus
    # What the tool answered; `null` where it failed, or answered with more than is kept.
    result: Raw = _NOTHING
    size: int = 0
    # How it failed.
    failure: dict[str, Any] = {}
    # Whether it came after the call had run out of time.
    is_late: bool = False


async def calls_answer(book: CallBook, recent: Recent, request: CallsRequest) -> CallList:
    """The calls that a request wants."""
    # Whatever is told to have ended is on disk first.
    await book.flush()
    kept = {each.id: _kept_status(each) for each in await book.kept()}
    return CallList(calls=wanted_calls({**kept, **_known(book, recent)}.values(), request))


def _known(book: CallBook, recent: Recent) -> dict[str, CallStatus]:
    """The calls of this daemon. Who knows more of one comes later."""
    ended = {each.id: _status(each) for each in book.ended}
    running = {each.id: _running(each.clock.exact or each) for each in book.under_way.values()}
    return {**recent(), **ended, **running}


def kept_calls(store: KeptOutcomes, request: CallsRequest) -> CallList:
    """The same where no daemon runs: those whose outcomes lie on disk."""
    return CallList(calls=wanted_calls(map(_kept_status, store.all()), request))


async def result_answer(
    book: CallBook, recent: Recent, audit: AuditStore, request: ResultRequest
) -> ResultAnswer:
    """The outcome that was kept. Raises a fault that says what is known instead."""
    await book.flush()
    kept = await book.kept_of(request.id)
    known = _known(book, recent).get(request.id)
    if kept is not None:
        return _result(kept, known)
    raise _without(known) if known is not None else await _unknown(request.id, audit)


async def kept_result(
    store: KeptOutcomes, audit: AuditStore, request: ResultRequest
) -> ResultAnswer:
    """The same where no daemon runs."""
    kept = store.get(request.id)
    if kept is None:
        raise await _unknown(request.id, audit)
    return _result(kept, None)


def _result(kept: KeptOutcome, known: CallStatus | None) -> ResultAnswer:
    fault = kept.fault
    return ResultAnswer(
        call=known or _kept_status(kept),
        result=kept.result or _NOTHING,
        size=kept.size,
        failure={} if fault is None else {name: getattr(fault, name) for name in _FAULT_FIELDS},
        is_late=kept.is_late,
    )


_FAULT_FIELDS = ("code", "reason", "message", "hint", "details")


def _without(call: CallStatus) -> Fault:
    """That there is no outcome to show of a call that is known, and why."""
    hint = "switchboard calls"
    if not call.has_ended:
        code, reason, says = FaultCode.FAILED_PRECONDITION, "call-under-way", "has not ended yet"
        hint = "switchboard calls --follow"
    elif call.state == FaultCode.CANCELLED:
        code, reason, says = FaultCode.NOT_FOUND, "call-cancelled", "was cancelled"
    elif call.answer == "delivered":
        code, reason = FaultCode.NOT_FOUND, "result-delivered"
        says = f"ended with `{call.state}`, and its client has the answer"
        hint = "only answers that nobody has got are kept"
    elif not call.answer:
        code, reason = FaultCode.NOT_FOUND, "result-not-kept"
        says = f"ended with `{call.state}`, and changed nothing: its answer is not kept"
        hint = "only answers of calls that may have changed something are kept"
    else:
        code, reason = FaultCode.NOT_FOUND, "result-not-kept"
        says = f"ended with `{call.state}`, and its answer was not kept"
        hint = "switchboard config explain results.keep"
    return Fault(code, reason, f"call `{call.id}` of `{call.tool}` {says}", hint=hint)


async def _unknown(call_id: str, audit: AuditStore) -> Fault:
    """What the audit log says of a call that nobody remembers."""
    rows: list[AuditRow] = await audit.find(call_id)
    events = b" ".join(row.body for row in rows)
    if b'"tool.call.started"' in events and b'"tool.call.finished"' not in events:
        return Fault(
            FaultCode.NOT_FOUND,
            "end-unknown",
            f"call `{call_id}` has begun, and nobody wrote down how it ended: the process that"
            " ran it was ended meanwhile, and it may or may not have had an effect",
            hint=f"switchboard audit show {call_id}",
        )
    ended = next((found for row in reversed(rows) if (found := _ended(row)) is not None), None)
    if ended is not None:
        return Fault(
            FaultCode.NOT_FOUND,
            "result-not-kept",
            f"call `{call_id}` of `{ended.tool}` ended with `{ended.status}`, and its answer is not"
            " kept",
            hint=f"switchboard audit show {call_id}",
            # Not in the sentence: only who shows it knows the clock of who reads it.
            details={"ended_at": ended.ended or ended.ts},
        )
    if b'"approval.requested"' in events and b'"approval.decided"' not in events:
        return Fault(
            FaultCode.NOT_FOUND,
            "not-run",
            f"call `{call_id}` was not run: its daemon ended while a person was asked",
            hint="make the call again",
        )
    hint = f"switchboard audit show {call_id}" if rows else "switchboard calls"
    return Fault(
        FaultCode.NOT_FOUND, "no-result", f"nothing is kept of a call `{call_id}`", hint=hint
    )


def _ended(row: AuditRow) -> AuditRecord | None:
    """The record of a row that says how a call ended."""
    record = record_in(row)
    is_end = record is not None and record.event in ("tool.call.finished", "tool.call.refused")
    return record if is_end else None


def wanted_calls(calls: Iterable[CallStatus], request: CallsRequest) -> tuple[CallStatus, ...]:
    """Those that a request wants, the oldest first."""
    found = sorted(_matching(calls, request), key=lambda each: each.came_at)
    return tuple(found[max(0, len(found) - request.last) :] if request.last else found)


def _matching(calls: Iterable[CallStatus], request: CallsRequest) -> Iterator[CallStatus]:
    for each in calls:
        if request.session not in ("", each.session):
            continue
        if request.workspace not in ("", each.workspace):
            continue
        names = (each.tool, each.suite, f"{each.suite}.{each.tool}")
        if request.tool and not any(fnmatch.fnmatch(name, request.tool) for name in names):
            continue
        if not request.own and each.client.startswith(_OURS) and each.suite == each.tool:
            continue
        if request.running and (each.has_ended or each.state == "unknown"):
            continue
        if request.undelivered and each.answer not in ("sent", "kept", "lost"):
            continue
        yield each


def _running(call: Call) -> CallStatus:
    session, clock, now = call.session, call.clock, time.monotonic()
    times = clock.times(call.began_at, now)
    receipt = call.channel.receipt if call.channel is not None else None
    state = "waiting" if clock.is_asking else "working" if clock.worked_from else "queued"
    return CallStatus(
        id=call.id,
        session=session.id,
        client=session.client,
        workspace=session.workspace,
        tool=call.tool.name,
        suite=call.via.name if call.via is not None else "",
        came_at=time.time() - (now - call.began_at),
        state=state,
        queue_s=round(times.queue_s, 4),
        work_s=round(times.work_s, 4),
        human_s=round(times.human_s, 4),
        given_up=receipt.given_up if receipt is not None else "",
        repeats=receipt.repeats_id if receipt is not None else "",
    )


def _status(receipt: Receipt) -> CallStatus:
    """Of one that has ended, and of which there is more to tell than that."""
    session, times = receipt.session, receipt.times or CallTimes()
    return CallStatus(
        id=receipt.id,
        session=session.id,
        client=session.client,
        workspace=session.workspace,
        tool=receipt.tool.name,
        suite=receipt.via.name if receipt.via is not None else "",
        came_at=receipt.came_at,
        ended_at=receipt.ended_at,
        state=receipt.status,
        reason=receipt.reason,
        queue_s=round(times.queue_s, 4),
        work_s=round(times.work_s, 4),
        human_s=round(times.human_s, 4),
        answer=_answer(receipt),
        given_up=receipt.given_up,
        repeats=receipt.repeats_id,
    )


def _answer(receipt: Receipt) -> str:
    if receipt.status == FaultCode.CANCELLED:
        return "none"
    found = receipt.look()
    if found:
        return "delivered"
    if receipt.is_kept and (found is not None or receipt.given_up):
        return "kept"
    if found is None and receipt.delivery is not None:
        return "sent"
    return "lost"


def _kept_status(kept: KeptOutcome) -> CallStatus:
    return CallStatus(
        id=kept.id,
        session=kept.session,
        client=kept.client,
        workspace=kept.workspace,
        tool=kept.tool,
        suite=kept.suite,
        came_at=kept.came_at,
        ended_at=kept.ended_at,
        state=kept.status,
        reason=kept.reason,
        queue_s=round(kept.times.queue_s, 4),
        work_s=round(kept.times.work_s, 4),
        human_s=round(kept.times.human_s, 4),
        answer="sent" if kept.was_sent else "kept",
        given_up=kept.given_up,
    )
