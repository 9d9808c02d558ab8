"""The runs of a team as one of its processes sees them: `RunStore`, and the queue."""

import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from switchboard.core.faults import Fault, FaultCode
from switchboard.core.stores import Owners
from switchboard.postgres.address import DatabaseAddress
from switchboard.postgres.database import PostgresDatabase
from switchboard.postgres.notices import Notices
from switchboard.runs.run import Run, RunSpec
from switchboard.runs.store.postgres import RUNS, PostgresRuns, unusable
from switchboard.runs.store.run_table import RunTable
from switchboard.runs.store.table_runs import OpenRuns
from switchboard.runs.team.queue_table import QueuePlace, QueueTable

T = TypeVar("T")
LAPSED = "worker-lapsed"


class TeamRunStore(PostgresRuns):
    """Connects with the first who asks. Once `is_lapsed` it neither reads nor writes anything."""

    def __init__(
        self,
        address: DatabaseAddress,
        *,
        owners: Owners,
        placed: Callable[[RunSpec], QueuePlace] = lambda _: QueuePlace(),
        is_lapsed: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(address, owners=owners, clock=clock)
        self._placed = placed
        self._is_lapsed = is_lapsed

    def listen(self, channel: str, tell: Callable[[str], None]) -> Notices:
        """Be told of what happens, on a thread, until it is closed. It blocks. Raises a fault."""
        return Notices(self._address, channel, tell, failure=unusable)

    async def waiting(self, queues: Sequence[str]) -> list[tuple[Run, float]]:
        return await self._queue(lambda table: table.waiting(queues))

    async def stranded(self, after_s: float) -> list[Run]:
        return await self._queue(lambda table: table.stranded(after_s))

    async def own(self) -> list[Run]:
        return await self._queue(lambda table: table.own())

    async def take(self, run_id: str, *, alone: bool) -> Run | None:
        return await self._queue(lambda table: table.take(run_id, alone=alone))

    async def give_back(self, run_id: str) -> Run | None:
        return await self._queue(lambda table: table.give_back(run_id))

    async def end_waiting(self, run_id: str, **changes: Any) -> Run | None:
        return await self._queue(lambda table: table.end_waiting(run_id, **changes))

    async def put_in(self, run_id: str, text: str) -> None:
        await self._queue(lambda table: table.put_in(run_id, text))

    async def inputs(self) -> list[tuple[str, str]]:
        return await self._queue(lambda table: table.inputs())

    async def run(self, work: Callable[[RunTable], T]) -> T:
        def checked(table: RunTable) -> T:
            if self._is_lapsed():
                raise Fault(
                    FaultCode.FAILED_PRECONDITION,
                    LAPSED,
                    "this worker was out of reach for so long that others may have its runs",
                    hint="start it again",
                )
            return work(table)

        return await super().run(checked)

    async def _queue(self, work: Callable[[QueueTable], T]) -> T:
        return await self.run(lambda table: work(cast("QueueTable", table)))

    def _connected(self) -> OpenRuns:
        database = PostgresDatabase(self._address, RUNS, failure=unusable)
        table = QueueTable(database, self._owners, placed=self._placed, clock=self._clock)
        return OpenRuns(database, table)
