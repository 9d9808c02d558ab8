"""An outcome as it lies on disk."""

import time
from collections.abc import Callable

from msgspec import Raw

from switchboard.core.calls.call import Outcome
from switchboard.core.calls.receipts import KeptFault, KeptOutcome, Receipt
from switchboard.core.faults import Fault
from switchboard.receipts.result_files import MOST_RESULT_BYTES

# A result as it lies on disk. It is for another place to know how results are written.
Write = Callable[[Outcome], bytes]


def kept_from(
    receipt: Receipt, outcome: Outcome | Fault, write: Write, keep_s: float
) -> KeptOutcome:
    """What a call came to, without the secrets that were looked up. A fault has none."""
    session, result, size = receipt.session, None, 0
    if isinstance(outcome, Outcome):
        size = outcome.size
        if size <= MOST_RESULT_BYTES:
            result = Raw(receipt.hide(write(outcome).decode()).encode())
            size = len(result)
            if size > MOST_RESULT_BYTES:
                # Some letters are longer on the wire than they are.
                result = None
    return KeptOutcome(
        id=receipt.id,
        session=session.id,
        client=session.client,
        workspace=session.workspace,
        tool=receipt.tool.name,
        suite=receipt.via.name if receipt.via is not None else "",
        came_at=receipt.came_at,
        ended_at=receipt.ended_at or time.time(),
        until=time.time() + keep_s,
        times=receipt.current_times(time.monotonic()),
        status=receipt.status or _status_of(outcome),
        reason=outcome.reason if isinstance(outcome, Fault) else "",
        given_up=receipt.given_up,
        result=result,
        is_modern=isinstance(outcome, Outcome) and outcome.is_modern,
        size=size,
        fault=_kept_fault(outcome) if isinstance(outcome, Fault) else None,
    )


def _status_of(outcome: Outcome | Fault) -> str:
    if isinstance(outcome, Fault):
        return str(outcome.code)
    return "error" if outcome.is_error else "ok"


def _kept_fault(fault: Fault) -> KeptFault:
    return KeptFault(
        code=fault.code,
        reason=fault.reason,
        message=fault.message,
        hint=fault.hint,
        details=dict(fault.details),
    )
