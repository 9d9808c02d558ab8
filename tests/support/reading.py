"""What a person makes of a question: they read it first, and then choose."""

import asyncio

from support.workspace import Json
from switchboard.surface.asking.unattended import READING_S

CHOICES = {
    "allow_once": {},
    "allow_session": {"remember": "session"},
    "allow_always": {"remember": "always"},
    "allow_everything": {"remember": "everything"},
}


async def read_it() -> None:
    """Take the time that nobody needs less of."""
    await asyncio.sleep(READING_S + 0.05)


def reply(decision: str) -> Json:
    """Write what a client makes of its user's choice."""
    if decision in CHOICES:
        return {"action": "accept", "content": CHOICES[decision]}
    return {"action": "decline" if decision == "deny" else decision}
