"""What goes on in a call while somebody watches it."""

from msgspec import Struct


class CallStep(Struct, frozen=True, kw_only=True):
    """One thing that the run of a call does, in one line of words."""

    run_id: str
    text: str
    # True while it is being done; how it ended is a step of its own.
    is_passing: bool = False
    # The last part of the text, which is kept where the text has to be cut.
    ending: str = ""
