"""A call that a gate does not let pass is written down too: its id is what the client was told."""

import time
from functools import partial

from switchboard.core.calls import Call, Outcome
from switchboard.core.faults import Fault
from switchboard.core.ports import Next
from switchboard.core.stores import AuditStore
from switchboard.pipeline.call_records import CallRecords
from switchboard.pipeline.gates.audit import Audit


class Refusals:
    """Notes the faults of calls that did not come as far as the audit gate."""

    def __init__(self, log: AuditStore, records: CallRecords, audit: Audit) -> None:
        self._log = log
        self._records = records
        self._told = audit.told

    async def __call__(self, call: Call, proceed: Next, /) -> Outcome:
        try:
            return await proceed(call)
        except Fault as fault:
            if call.id in self._told:
                self._told.discard(call.id)
            else:
                self._log.post(partial(self._records.refused, call, fault, time.time_ns()))
            raise
