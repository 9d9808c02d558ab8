"""A call whose answer comes later: the client was told an id, and asks for it."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from switchboard.core.calls.call import Outcome
from switchboard.core.channels.channel import Input

TaskStatus = Literal["working", "input_required", "completed", "cancelled"]


class Task(Struct, frozen=True, kw_only=True, eq=False):
    """What became of a call so far. It is kept wherever its id can be told."""

    id: str
    status: TaskStatus
    # What it does right now, in a sentence.
    message: str = ""
    created_at: float
    updated_at: float
    # How long it is kept, from its beginning.
    ttl_s: float
    # What it asks of its client, each under a key that stands for nothing else in this task.
    inputs: Mapping[str, Input] = {}
    # What the call would have answered, once that is known.
    outcome: Outcome | None = None
