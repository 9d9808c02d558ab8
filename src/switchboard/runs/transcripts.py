"""How much of a transcript is kept: each line, and all of them, up to a size."""

import msgspec
from msgspec import Struct

MOST_BYTES = 8 * 1024 * 1024
_MOST_PER_LINE = 256 * 1024
_KEPT_OF_LINE = 32 * 1024
_OF_THE_RUN = '{"event":"state"'


class StateLine(Struct, frozen=True, kw_only=True, tag_field="event", tag="state"):
    """What the run itself did: it began, it asks, it goes on, it ended."""

    state: str
    # Why, in a few words or in one sentence.
    text: str = ""
    attempt: int = 0


class CutLine(Struct, frozen=True, kw_only=True, tag_field="event", tag="cut"):
    """There was more, which is not kept. `kept` is the beginning of one line that was too long."""

    text: str
    of: str = ""
    kept: str = ""


class _Tagged(Struct):
    event: str = ""


def state_line(state: str, text: str = "", attempt: int = 0) -> str:
    """A line of the transcript that tells what the run itself did."""
    return msgspec.json.encode(StateLine(state=state, text=text, attempt=attempt)).decode()


def is_of_the_run(data: str) -> bool:
    """Whether a line tells what the run itself did."""
    return data.startswith(_OF_THE_RUN)


def fitted(data: str) -> str:
    """A line as it is kept: one that is too long is cut, and says so."""
    if len(data) <= _MOST_PER_LINE:
        return data
    line = CutLine(
        text=f"this line had {len(data):,} characters, and its beginning is kept",
        of=_kind_of(data),
        kept=data[:_KEPT_OF_LINE],
    )
    return msgspec.json.encode(line).decode()


def cut_mark(most: int) -> str:
    """The line after which only what the run itself did is kept."""
    text = f"the transcript reached {most:,} bytes: what the agent did from here on is not kept"
    return msgspec.json.encode(CutLine(text=text)).decode()


def gap_mark(lines: int) -> str:
    """The line that stands for those that could not be written."""
    missing = "1 line is" if lines == 1 else f"{lines:,} lines are"
    text = f"{missing} missing here: the transcript could not be written"
    return msgspec.json.encode(CutLine(text=text)).decode()


def _kind_of(data: str) -> str:
    try:
        return msgspec.json.decode(data, type=_Tagged).event
    except msgspec.MsgspecError:
        return ""
