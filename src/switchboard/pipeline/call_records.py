"""What the audit log is told of a call. Payloads are hashed and their shape is noted, no more."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from switchboard.core.audit import AuditApproval, AuditRecord, appeared_note, call_record_with
from switchboard.core.calls.call import Call, Figures, Outcome, TextBlock
from switchboard.core.calls.clock import CallTimes
from switchboard.core.catalog.tools import ToolSpec
from switchboard.core.faults import Fault
from switchboard.core.stores import AuditStore
from switchboard.core.text.stamps import stamp
from switchboard.core.text.tokens import estimated_tokens

_MOST_NAMES = 32
_KINDS = {
    ord("{"): "object",
    ord("["): "array",
    ord('"'): "string",
    ord("t"): "boolean",
    ord("f"): "boolean",
    ord("n"): "null",
}
# More specs than any board has: names that clients make up are specs too.
_MOST_SPECS = 4_096
_NOT_REQUIRED = AuditApproval(decision="not_required")
_open_object = msgspec.json.Decoder(dict[str, Raw]).decode


_NOTHING = Raw(b"null")


class _Declared(Struct):
    properties: dict[str, Raw] = {}


class _Text(Struct):
    text: str = ""


class _Result(Struct, rename="camel"):
    # Not `Raw | None`: msgspec reads only `null` into that.
    structured_content: Raw = _NOTHING
    content: list[_Text] = []


_read_result = msgspec.json.Decoder(_Result).decode
_read_declared = msgspec.json.Decoder(_Declared).decode


class CallRecords:
    """Makes the records of calls. It opens arguments once, and not beyond their first level."""

    def __init__(self, audit: AuditStore) -> None:
        self._fingerprint = audit.fingerprint
        self._declared: dict[ToolSpec, frozenset[str]] = {}

    def started(self, call: Call, began: int) -> AuditRecord:
        """That a call is about to run, since so many nanoseconds after the epoch."""
        return self._record("tool.call.started", call, began, began, {})

    def finished(self, call: Call, began: int, ended: int, ending: dict[str, Any]) -> AuditRecord:
        """That a call has ended of whose beginning there is no record; see `ending_of`."""
        ending["ts"] = ending["ended"]
        return self._record("tool.call.finished", call, ended, began, ending)

    def refused(self, call: Call, fault: Fault, now: int, times: CallTimes) -> AuditRecord:
        """That a gate did not let a call pass, so many nanoseconds after the epoch."""
        ending = {
            "status": fault.code,
            "reason": fault.reason,
            "queue_ms": _ms(times.queue_s),
            "human_ms": _ms(times.human_s),
        }
        return self._record("tool.call.refused", call, now, None, ending)

    def repeated(self, call: Call, first: str, now: int) -> AuditRecord:
        """That a call ran nothing: it was answered with what became of the same one before."""
        note = f"answered with what became of call {first}; nothing was run"
        return self._record("tool.call.repeated", call, now, None, {"note": note})

    def _record(
        self,
        event: str,
        call: Call,
        now: int,
        began: int | None,
        # Made for this record alone.
        more: dict[str, Any],
        /,
    ) -> AuditRecord:
        tool, session, agreed = call.tool, call.session, call.approval
        limit = tool.policy.timeout_s
        if call.client_timeout_s is not None:
            limit = call.client_timeout_s if limit is None else min(limit, call.client_timeout_s)
        if agreed is not None:
            more["approval"] = AuditApproval(
                decision="approved",
                id=agreed.id,
                mode=agreed.mode,
                channel=agreed.channel,
                digest=agreed.digest,
            )
        if began is not None:
            more["started"] = stamp(began)
            more.setdefault("approval", _NOT_REQUIRED)
            if call.launch is None:
                # Our own code works where the session does.
                more["cwd"] = session.cwd or session.workspace
        more["args_sha256"] = self._fingerprint(call.arguments)
        more["timeout_ms"] = None if limit is None else round(limit * 1000)
        more["side_effects"] = tool.effects.read_only is not True
        more["args_shape"] = self._shape(call)
        return call_record_with(event, call, now, more)

    def _shape(self, call: Call) -> str:
        """Names and kinds of the arguments, as far as the tool's own schema declares them.

        Other names may be data, as in a map from tokens to users; these are only counted.
        """
        if call.arguments == b"{}":
            return ""
        try:
            given = _open_object(call.arguments)
        except msgspec.MsgspecError:
            return "not an object"
        declared = self._declared.get(call.tool)
        if declared is None:
            if len(self._declared) >= _MOST_SPECS:
                self._declared.clear()
            declared = self._declared[call.tool] = _declared_by(call.tool)
        known = [
            f"{name}:{_KINDS.get(bytes(value)[0], 'number')}"
            for name, value in given.items()
            if name in declared
        ]
        others = len(given) - len(known[:_MOST_NAMES])
        if others:
            known = [*known[:_MOST_NAMES], f"+{others}"]
        return " ".join(known)


def finished(begun: AuditRecord, ended: int, ending: dict[str, Any]) -> AuditRecord:
    """That a call has ended: everything that its first record says, and how it went."""
    return msgspec.structs.replace(begun, ts=stamp(ended), event="tool.call.finished", **ending)


def ending_of(
    ended: int,
    status: str,
    *,
    reason: str = "",
    figures: Figures | None = None,
    result_bytes: int | None = None,
    tokens: tuple[int, int] | None = None,
    times: CallTimes | None = None,
) -> dict[str, Any]:
    """What the record of a call says of its end. `tokens` are what a model wrote and read."""
    ending: dict[str, Any] = {"ended": stamp(ended), "status": status, "reason": reason}
    if result_bytes is not None:
        ending["bytes_result"] = result_bytes
    if tokens is not None:
        ending["tokens_args"], ending["tokens_result"] = tokens
    if times is not None:
        ending["queue_ms"] = _ms(times.queue_s)
        ending["work_ms"] = _ms(times.work_s)
        ending["human_ms"] = _ms(times.human_s)
    if figures is not None:
        ending["exit_status"] = figures.exit_status
        ending["bytes_stdout"] = figures.bytes_stdout
        ending["bytes_stderr"] = figures.bytes_stderr
        ending["redactions"] = figures.redactions
        ending["note"] = appeared_note(figures.appeared)
    return ending


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


def figures_in(details: Mapping[str, Any]) -> Figures:
    """What a fault tells of the process that it ended."""
    names = ("exit_status", "bytes_stdout", "bytes_stderr", "redactions")
    found = {name: details[name] for name in names if isinstance(details.get(name), int)}
    return Figures(**found, appeared=tuple(details.get("appeared", ())))


def tokens_of(outcome: Outcome) -> int:
    """What a model reads of an answer: its structured content if there is some, else its texts."""
    if outcome.raw is None:
        if outcome.structured is not None:
            return estimated_tokens(bytes(outcome.structured))
        texts = (block.text for block in outcome.blocks if isinstance(block, TextBlock))
        return sum(map(estimated_tokens, texts))
    try:
        read = _read_result(outcome.raw)
    except msgspec.MsgspecError:
        return estimated_tokens(bytes(outcome.raw))
    if read.structured_content != _NOTHING:
        return estimated_tokens(bytes(read.structured_content))
    return sum(estimated_tokens(block.text) for block in read.content)


def _declared_by(tool: ToolSpec) -> frozenset[str]:
    try:
        return frozenset(_read_declared(tool.input_schema).properties)
    except msgspec.MsgspecError:
        return frozenset()
