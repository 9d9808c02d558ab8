"""A call whose answer comes later: the client was told an id, and asks for it."""

from typing import Literal

from msgspec import Struct

from switchboard.core.calls import Outcome

TaskStatus = Literal["working", "completed", "cancelled"]


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
    # What the call would have answered, once that is known.
    outcome: Outcome | None = None
