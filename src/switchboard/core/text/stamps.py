"""Times as records and reports write them: in UTC, as RFC 3339 has it."""

import time


class _Clock:
    """Writes down times, in UTC. Most of the text stays the same for a second."""

    def __init__(self) -> None:
        # One value, so that another thread never sees half of it.
        self._last = (-1, "")

    def __call__(self, nanoseconds: int | None = None) -> str:
        now = time.time_ns() if nanoseconds is None else nanoseconds
        second, rest = divmod(now, 1_000_000_000)
        known, written = self._last
        if second != known:
            written = time.strftime("%Y-%m-%dT%H:%M:%S.", time.gmtime(second))
            self._last = (second, written)
        return f"{written}{rest // 1000:06}Z"


# A time as records write it (RFC 3339): now, or so many nanoseconds after the epoch.
stamp = _Clock()


def stamped(seconds: float) -> str:
    """A time of the clock as records write it; empty for none."""
    return stamp(round(seconds * 1_000_000) * 1000) if seconds else ""


def whole_second(seconds: float) -> str:
    """The same for who only reads it: a second more or less says nothing to them."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
