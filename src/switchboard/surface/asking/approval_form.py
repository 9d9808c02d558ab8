"""The form by which a host asks its user whether a call may run, and what its reply means.

What the hosts make of a form, as their terminals show it:

| host | a choice without a default | its user says no with | Enter, before anything else |
|---|---|---|---|
| Claude Code | `not set` | Decline, Esc | answers nothing |
| Codex | a list, its first value chosen; of a long question no other | Esc | submits it |

So a form for most hosts asks one thing only, which nobody has to answer: how long a yes holds.
Codex has no button for a no, and submits whatever stands first. There the choice is the whole
answer: each of its values says whether the call runs, and the first of them is no.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw, Struct

from switchboard.approvals.wording.barred import rows_of
from switchboard.approvals.wording.fitting import WIDTH
from switchboard.core.questions import ASKING, Extent, Question, Verdict
from switchboard.core.sessions import Session
from switchboard.wire.messages import MessageId

APPROVAL_KEY = "switchboard/approval"
# How the names of hosts begin, in their own words, that have no button for a no.
WITHOUT_BUTTONS = ("codex",)
_REMEMBER, _RUN = "remember", "run"
_NO = "no"


class _Words(NamedTuple):
    """What a choice is called, and each of its values."""

    title: str
    values: dict[str, str]


# Where a no has a button: how long a yes holds.
_HOW_LONG = _Words(
    "Remember",
    {
        "once": "Just this once",
        "session": "Also for the rest of this session",
        "always": "Always for this tool",
    },
)
_HOW_LONG_FOR_A_HOST = _Words("Remember", {"once": "Just this once", "always": "Always"})
# Where it has none.
_WHETHER = _Words(
    "Run it?",
    {
        _NO: "Do not run it",
        "once": "Run it, just this once",
        "session": "Run it, also for the rest of this session",
        "always": "Run it, always for this tool",
    },
)
_WHETHER_A_HOST = _Words(
    "Let it reach this host?",
    {_NO: "Do not let it", "once": "Let it, just this once", "always": "Let it, always"},
)


class Decided(Struct, frozen=True):
    """What a reply means."""

    verdict: Verdict
    extent: Extent = "once"


class _Reply(Struct):
    action: str = ""
    content: dict[str, Any] | None = None


_read_reply = msgspec.json.Decoder(_Reply).decode


class ApprovalForm:
    """The form of one question for the host of one session."""

    def __init__(self, question: Question, session: Session) -> None:
        self._question = question
        self._has_buttons = not session.client.lower().startswith(WITHOUT_BUTTONS)

    def params(self, request_id: MessageId = None) -> dict[str, Any]:
        """What the host is sent, in the middle of which request of its own.

        If we are killed while it shows the question, that tells which call has not run:
        `shim.aftermath`.
        """
        question = self._question
        about = {"id": question.id, "digest": question.digest, "request": request_id}
        return {
            "mode": "form",
            "message": "\n".join(_rows(question)),
            "requestedSchema": {"type": "object", "properties": self._choice()},
            "_meta": {APPROVAL_KEY: about},
        }

    def read(self, raw: Raw) -> Decided:
        """What was decided. Whatever is not plainly a yes is a no."""
        try:
            reply = _read_reply(raw)
        except msgspec.MsgspecError:
            return Decided("denied")
        if reply.action == "cancel":
            return Decided("cancelled")
        if reply.action != "accept":
            return Decided("denied")
        content = dict(reply.content or {})
        chosen = (
            content.pop(_REMEMBER, None) or "once" if self._has_buttons else content.pop(_RUN, _NO)
        )
        for extent in self._question.offers:
            if chosen == extent and not content:
                return Decided("approved", extent)
        return Decided("denied")

    def _choice(self) -> dict[str, Any]:
        offers, is_host = self._question.offers, bool(self._question.host)
        if not self._has_buttons:
            return {_RUN: _one_of(_WHETHER_A_HOST if is_host else _WHETHER, (_NO, *offers))}
        if len(offers) == 1:
            return {}
        return {_REMEMBER: _one_of(_HOW_LONG_FOR_A_HOST if is_host else _HOW_LONG, offers)}


def _rows(question: Question) -> Iterator[str]:
    """The question in rows that hosts show as they are: where they break one, no bar is put."""
    for line in f"{ASKING}{question.prompt}".splitlines():
        yield from rows_of(line, WIDTH)


def action_of(raw: Raw) -> str:
    """What a host says that its user did."""
    try:
        return _read_reply(raw).action
    except msgspec.MsgspecError:
        return ""


def _one_of(words: _Words, values: tuple[str, ...]) -> dict[str, Any]:
    """A choice without a default: hosts take the first value, or none."""
    titled = [{"const": each, "title": words.values[each]} for each in values]
    return {"type": "string", "title": words.title, "oneOf": titled}
