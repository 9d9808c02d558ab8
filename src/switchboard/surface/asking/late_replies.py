"""A reply to a question that was decided before it came, and what the model is told of it.

A client of the modern era is asked by the answer to its request: there is nothing that could be
taken back, so it shows the question until its user replies. What counts is what was decided first.
The user who says no to what has run, or yes to what has not, is not ignored without a word.
"""

import time
from collections.abc import Mapping

from msgspec import Raw

from switchboard.core.questions import Answer
from switchboard.surface.asking.approval_form import APPROVAL_KEY, action_of

_AGAIN = "make it again, and they are asked again"


def late_note(replies: Mapping[str, Raw], decided: Answer | None) -> str:
    """What there is to say of replies that nobody asks for any more; mostly nothing."""
    actions = {action_of(raw) for key, raw in replies.items() if key.startswith(APPROVAL_KEY)}
    if decided is None or not actions:
        return ""
    at = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(decided.at))} ({decided.by})"
    if actions == {"accept"}:
        if decided.verdict == "denied":
            return f"Too late, the user agreed to this call: it had been denied at {at}; {_AGAIN}."
        if decided.verdict == "expired":
            return f"Too late, the user agreed to this call: its time was over at {at}; {_AGAIN}."
        return ""
    if decided.verdict == "approved":
        return (
            "Too late, the user said no to this call in the client:"
            f" it had been approved at {at}, and was let run."
        )
    return "" if decided.verdict == "denied" else "The user has since said no to this call."
