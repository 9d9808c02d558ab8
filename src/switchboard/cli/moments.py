"""Times as people read them: by their own clock. Reports write them with their zone."""

import time
from datetime import datetime


def local_time(at: str | float) -> str:
    """A moment in the time of whoever reads it; a text that is none stays as it is."""
    try:
        seconds = datetime.fromisoformat(at).timestamp() if isinstance(at, str) else at
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds)) if seconds else ""
    except (ValueError, OverflowError):
        return str(at)


def utc_time(at: float) -> str:
    """A moment as reports write it, with its zone."""
    micros = round(at * 1_000_000)
    seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(micros // 1_000_000))
    return f"{seconds}.{micros % 1_000_000:06}Z"
