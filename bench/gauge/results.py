"""What a run has found, summed up per row, and as JSON."""

from collections.abc import Sequence

from .cold import ColdResult
from .figures import Rounds, middle, percentile, ratio
from .latency import LatencyResult
from .link import Json
from .memory import MemoryResult
from .our_rows import BASE, FLOOR
from .row import Row
from .throughput import WINDOWS, ThroughputResult
from .tokens import TokensResult


class Results:
    """The samples of every phase; a phase that was not run is empty."""

    def __init__(self, rows: Sequence[Row], counts: Sequence[int]) -> None:
        self.rows = rows
        self.counts = counts
        self.cold: ColdResult = {}
        self.latency: LatencyResult = {}
        self.throughput: ThroughputResult = {}
        self.memory: MemoryResult = {}
        self.tokens: TokensResult = {}

    def listing(self, row: str, count: int) -> Rounds:
        """Seconds from the spawn to the answered listing, by round."""
        times = self.cold.get(row, {}).get(count)
        return times.listing if times else {}

    def listing_over_floor(self, row: str) -> float | None:
        """With the most children that the row was measured with."""
        counts = [count for count in self.counts if self.listing(row, count)]
        if not counts:
            return None
        return ratio(self.listing(row, counts[-1]), self.listing(FLOOR, counts[-1]))

    def first_call_over_direct(self, row: str) -> float | None:
        """With one child; both include the start of the child."""
        first = self.counts[0]
        own, base = (self.cold.get(name, {}).get(first) for name in (row, BASE))
        return ratio(own.call, base.call) if own and base else None

    def latency_percentile(self, row: str, percent: float) -> float | None:
        """Over the calls of all rounds."""
        rounds = self.latency.get(row, {})
        return percentile([sample for samples in rounds.values() for sample in samples], percent)

    def p50_over_direct(self, row: str) -> float | None:
        return ratio(self._p50(row), self._p50(BASE))

    def _p50(self, row: str) -> Rounds:
        return {
            number: percentile(samples, 50) or 0.0
            for number, samples in self.latency.get(row, {}).items()
        }

    def rate(self, row: str, window: int) -> float | None:
        rates = self.throughput.get(row, {}).get(window)
        return middle(rates.per_second) if rates else None

    def effort(self, row: str, window: int) -> float | None:
        """Seconds of processor time per call, without the child's."""
        rates = self.throughput.get(row, {}).get(window)
        return middle(rates.effort) if rates else None

    def rate_over_direct(self, row: str, window: int) -> float | None:
        own, base = (self.throughput.get(name, {}).get(window) for name in (row, BASE))
        return ratio(own.per_second, base.per_second) if own and base else None

    def over(self, row: str, other: str) -> dict[str, float | None]:
        """What a row costs of what the other does, by round where the two were measured alike."""
        most, window = self.counts[-1], WINDOWS[-1]
        own, base = (self.throughput.get(name, {}).get(window) for name in (row, other))
        memory = [self.memory.get(name) for name in (row, other)]
        return {
            f"cold list {most}": ratio(self.listing(row, most), self.listing(other, most)),
            "p50": ratio(self._p50(row), self._p50(other)),
            f"calls a second, {window} in flight": ratio(own.per_second, base.per_second)
            if own and base
            else None,
            f"CPU a call, {window} in flight": ratio(own.effort, base.effort)
            if own and base
            else None,
            "memory with helpers": memory[0].with_helpers / memory[1].with_helpers
            if memory[0] and memory[1]
            else None,
        }

    def tokens_over_direct(self, row: str) -> float | None:
        own, base = self.tokens.get(row), self.tokens.get(BASE)
        return own.tokens / base.tokens if own and base and base.tokens else None

    def as_json(self) -> Json:
        """Every figure of the tables, by row."""
        return {row.name: self._row_json(row) for row in self.rows}

    def _row_json(self, row: Row) -> Json:
        name, memory, tokens = row.name, self.memory.get(row.name), self.tokens.get(row.name)
        return {
            "kind": row.kind,
            "cold": {
                str(count): {
                    "greeting": middle(times.greeting),
                    "listing": middle(times.listing),
                    "call": middle(times.call),
                    "rounds": len(times.listing),
                }
                for count, times in self.cold.get(name, {}).items()
            },
            "listing_over_floor": self.listing_over_floor(name),
            "first_call_over_direct": self.first_call_over_direct(name),
            "p50": self.latency_percentile(name, 50),
            "p99": self.latency_percentile(name, 99),
            "calls": sum(map(len, self.latency.get(name, {}).values())),
            "p50_over_direct": self.p50_over_direct(name),
            "rate": {str(window): self.rate(name, window) for window in WINDOWS},
            "rate_over_direct": {
                str(window): self.rate_over_direct(name, window) for window in WINDOWS
            },
            "effort": {str(window): self.effort(name, window) for window in WINDOWS},
            "memory": memory._asdict() if memory else None,
            "tokens": tokens._asdict() if tokens else None,
            "tokens_over_direct": self.tokens_over_direct(name),
        }
