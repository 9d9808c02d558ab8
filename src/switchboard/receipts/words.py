"""What a client is told that sends a call again: the answer of the first, and that it is that."""

import time
from typing import Any, cast

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from switchboard.core.calls.call import Outcome, TextBlock
from switchboard.core.calls.notes import with_note
from switchboard.core.calls.receipts import KeptOutcome, Receipt
from switchboard.core.faults import Fault, FaultCode

REPEATS_KEY = "switchboard/repeats"
_DAY_S = 86_400


def told_again(outcome: Outcome, first: Receipt | KeptOutcome, *, is_promised: bool) -> Outcome:
    """The answer of the first, with words that say when it ran; see `with_note`."""
    note = _note(first)
    about = {REPEATS_KEY: {"call_id": first.id}}
    if outcome.raw is None:
        return replace(
            outcome,
            blocks=(*outcome.blocks, TextBlock(note)),
            meta={**outcome.meta, **about},
            repeats=first.id,
        )
    try:
        result = msgspec.json.decode(outcome.raw, type=dict[str, Any])
    except msgspec.MsgspecError:
        return replace(outcome, repeats=first.id)
    result = with_note(result, note, is_promised=is_promised)
    said: Any = result.get("_meta")
    result["_meta"] = {**(cast("dict[str, Any]", said) if isinstance(said, dict) else {}), **about}
    return replace(outcome, raw=Raw(msgspec.json.encode(result)), repeats=first.id)


def failed_again(fault: Fault, first: Receipt | KeptOutcome) -> Fault:
    """How the first failed, with the same words."""
    other = Fault(
        fault.code,
        fault.reason,
        fault.message,
        hint=f"{fault.hint}; {_note(first)}" if fault.hint else _note(first),
        details={**fault.details, "repeats": first.id},
        private=fault.private,
    )
    other.__cause__ = fault.__cause__
    return other


def outcome_of(kept: KeptOutcome) -> Outcome | Fault:
    """What a call came to, from the disk."""
    if kept.fault is not None:
        known = kept.fault.code in set(FaultCode)
        return Fault(
            FaultCode(kept.fault.code) if known else FaultCode.INTERNAL,
            kept.fault.reason,
            kept.fault.message,
            hint=kept.fault.hint,
            details=kept.fault.details,
        )
    if kept.result is None:
        return Fault(
            FaultCode.RESOURCE_EXHAUSTED,
            "result-not-kept",
            f"`{kept.tool}` has answered with {kept.size:,} bytes, which is more than is kept",
        )
    return Outcome(raw=kept.result, is_modern=kept.is_modern, is_error=kept.status == "error")


def _note(first: Receipt | KeptOutcome) -> str:
    return (
        f"This is the answer of call {first.id}, the same one, which was made at"
        f" {_clock(first.came_at)} and ended at {_clock(first.ended_at)}: its answer had not been"
        " delivered, so nothing was run a second time. Call it again now to run it again."
    )


def _clock(at: float) -> str:
    """By the clock of the user, with the day if that is another."""
    form = "%H:%M:%S" if time.time() - at < _DAY_S / 2 else "%Y-%m-%d %H:%M:%S"
    return time.strftime(form, time.localtime(at))
