"""Times of the day as people write and read them, in the time of this place."""

import time

_DAY_S = 86400.0
_DATES = ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d")
_TIMES = ("%H:%M:%S", "%H:%M")


def clock_time(text: str, now: float) -> float | None:
    """The moment that `14:05`, `14:05:30` or a date with a time means; nothing when it is none.

    A time alone is the last one that has passed.
    """
    for form in _DATES:
        if found := _read(text, form):
            return found
    today = time.strftime("%Y-%m-%d ", time.localtime(now))
    for form in _TIMES:
        if found := _read(today + text, f"%Y-%m-%d {form}"):
            return found if found <= now else found - _DAY_S
    return None


def _read(text: str, form: str) -> float | None:
    try:
        return time.mktime(time.strptime(text, form))
    except (ValueError, OverflowError):
        return None


def told_time(when: float) -> str:
    """A moment to the thousandth of a second."""
    thousandths = int(when * 1000) % 1000
    return f"{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(when))}.{thousandths:03}"
