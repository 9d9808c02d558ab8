"""What is written down of a run while it works. A full disk does not end the work."""

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from switchboard.core.faults import Fault
from switchboard.runs.ports import RunStore
from switchboard.runs.run import Run
from switchboard.runs.transcripts import gap_mark


class Notebook:
    """The notes of one attempt. What could not be written of the run comes with the next note."""

    def __init__(self, run: Run, store: RunStore, tell: Callable[[Run], None]) -> None:
        self._run = run
        self._store = store
        self._tell = tell
        self._changes: dict[str, Any] = {}
        self._lost = 0

    async def change(self, **changes: Any) -> Run:
        """Change the run, and tell of it."""
        self._changes |= changes
        try:
            run = await self._store.update(self._run.id, **self._changes)
        except Fault:
            run = replace(self._run, **self._changes)
        self._tell(run)
        return run

    async def append(self, data: str) -> None:
        """Add a line to the transcript, which says where lines are missing."""
        lost, self._lost = self._lost, 0
        try:
            if lost:
                await self._store.append(self._run.id, gap_mark(lost))
                lost = 0
            await self._store.append(self._run.id, data)
        except Fault:
            self._lost += lost + 1
