"""Phase `memory`: what a gateway holds after a load, and how many copies of a large result."""

from typing import NamedTuple

from .fleet import Fleet
from .footprint import forget_peak, peak, resident
from .gateway import ANSWER_SECONDS, Gateway
from .link import LinkLostError
from .throughput import rate_of

LOAD_WINDOW = 16
LOAD_SECONDS = 0.5
RESULT_BYTES = 10_000_000
# An allocator treats the first large block in another way than those that follow it.
LARGE_RESULTS = 3


class MemoryUse(NamedTuple):
    """Bytes of the gateway's own processes; children do not count."""

    alone: int
    with_helpers: int
    # How far the peak rose while large results passed one by one, over the size of one.
    copies: float | None


MemoryResult = dict[str, MemoryUse]


def measure_memory(fleet: Fleet) -> MemoryResult:
    """Load every row, weigh it, then let large results pass through it."""
    found: MemoryResult = {}
    for gateway in fleet:
        row = gateway.row
        try:
            rate_of(gateway, LOAD_WINDOW, LOAD_SECONDS)
            alone = resident(gateway.pid)
            pids = gateway.processes()
            together = sum(resident(pid) for pid in pids)
            found[row.name] = MemoryUse(alone, together, None)
            if row.relays and row.kind != "base":
                copies = _copies(gateway, pids)
                found[row.name] = found[row.name]._replace(copies=copies)
        except (LinkLostError, OSError) as error:
            fleet.drop(row, "memory", error)
    return found


def _copies(gateway: Gateway, pids: list[int]) -> float:
    before: dict[int, int] = {}
    for pid in pids:
        forget_peak(pid)
        before[pid] = resident(pid)
    params = gateway.call_of("sized", {"bytes": RESULT_BYTES})
    for _ in range(LARGE_RESULTS):
        answer = gateway.ask("tools/call", params, seconds=ANSWER_SECONDS)
        length = len(str(answer.get("result")))
        if length < RESULT_BYTES:
            raise LinkLostError(f"the large result has {length} characters: {str(answer)[:200]}")
    growth = sum(peak(pid) - before[pid] for pid in pids)
    return growth / RESULT_BYTES
