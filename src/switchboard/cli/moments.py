"""Times as people read them: by their own clock. Reports write those of `core.text.stamps`."""

import time
from datetime import datetime

_MINUTE_S, _HOUR_S = 60, 3600
_NOTHING_S = 0.0005


def local_time(at: str | float) -> str:
    """A moment in the time of whoever reads it; a text that is none stays as it is."""
    try:
        seconds = datetime.fromisoformat(at).timestamp() if isinstance(at, str) else at
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds)) if seconds else ""
    except (ValueError, OverflowError):
        return str(at)


def time_of_day(at: float) -> str:
    """A moment as short as it can be: the time for one of today, with the day for any other."""
    moment = time.localtime(at)
    form = "%H:%M:%S" if moment[:3] == time.localtime()[:3] else "%m-%d %H:%M"
    return time.strftime(form, moment)


def took(seconds: float) -> str:
    """How long something took, in few letters; nothing that did not count."""
    if seconds < _NOTHING_S:
        return "-"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < _MINUTE_S:
        return f"{seconds:.1f} s"
    if seconds < _HOUR_S:
        return f"{seconds // _MINUTE_S:.0f} min {seconds % _MINUTE_S:.0f} s"
    return f"{seconds / _HOUR_S:.1f} h"
