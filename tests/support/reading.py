"""What a person makes of a question: they read it first, and then choose."""

import asyncio
import re

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


def says(question: str, text: str) -> bool:
    """Whether a question holds a text, wherever its rows break: also inside a word."""
    return _unbroken(text) in _unbroken(question)


def _unbroken(text: str) -> str:
    return re.sub(r"\s+(?:\| )?", "", text)
