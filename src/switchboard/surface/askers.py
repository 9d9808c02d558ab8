"""Asking the client's own user whether a call may run, over the channel of that call.

The form is empty, and whoever accepts it agrees to this one call; where more than that can be
agreed to, it holds one choice that nobody has to make. What each host makes of a form:

| host | an empty form | a choice without a default |
|---|---|---|
| Claude Code | Accept, Decline | `not set`, then Accept, Decline |
| Codex | Allow, Deny, Cancel | its first value is chosen; Esc refuses |

So the first value of the choice is the least, which is what leaving it alone means elsewhere.

What is answered before a person could have read the question is nobody's word, yes or no: a key
that was typed ahead is taken back by asking once more, and a program that is as quick again has
asked nobody. See `unattended` for the hosts that do.
"""

import time
from typing import Any

import msgspec
from msgspec import Raw, Struct

from switchboard.core.channel import Channel, Input
from switchboard.core.faults import Fault
from switchboard.core.questions import ASKING, Answer, Extent, Question, Verdict
from switchboard.core.sessions import Session
from switchboard.surface.channel import ClientChannel
from switchboard.surface.unattended import READING_S, is_unattended
from switchboard.wire.messages import encode

APPROVAL_KEY = "switchboard/approval"
_BY = "client"
_TIMES = 2
_CHOICE = "remember"
_TITLES: dict[Extent, str] = {
    "once": "No, this call only",
    "session": "For this session",
    "always": "Always for this tool",
}


class _Reply(Struct):
    action: str = ""
    content: dict[str, Any] | None = None


_read_reply = msgspec.json.Decoder(_Reply).decode


class ChannelAsker:
    """Asks with a form, which a client of either era shows to its user."""

    def __init__(self, channel: Channel, session: Session) -> None:
        self._channel = channel
        self._session = session

    async def ask(self, question: Question, /) -> Answer | None:
        form = Raw(encode(_form(question)))
        for number in range(_TIMES):
            # The id is a secret until it is asked, so no client can bring the answer along.
            key = f"{APPROVAL_KEY}:{question.id}{f':{number}' if number else ''}"
            began = time.monotonic()
            try:
                reply = (await self._channel.ask({key: Input("elicitation/create", form)}))[key]
            except Fault as fault:
                unanswered = fault.reason == "question-unanswered"
                return _answer("expired" if unanswered else "cancelled")
            took_s = time.monotonic() - began
            if is_unattended(self._session, _action(reply), took_s):
                return None
            if took_s >= READING_S:
                return _read(reply, question)
        return None


def asker_of(channel: Channel) -> ChannelAsker | None:
    """Who asks the user of the client at the other end, if that client can."""
    if isinstance(channel, ClientChannel) and channel.can_be_shown_forms:
        return ChannelAsker(channel, channel.session)
    return None


def _form(question: Question) -> dict[str, Any]:
    more = len(question.offers) > 1
    choice = {
        "type": "string",
        "title": "Remember",
        "oneOf": [{"const": each, "title": _TITLES[each]} for each in question.offers],
    }
    return {
        "mode": "form",
        "message": f"{ASKING}{question.prompt}",
        "requestedSchema": {"type": "object", "properties": {_CHOICE: choice} if more else {}},
        "_meta": {APPROVAL_KEY: {"id": question.id, "digest": question.digest}},
    }


def _read(raw: Raw, question: Question) -> Answer:
    """What was decided. Whatever is not plainly a yes is a no."""
    try:
        reply = _read_reply(raw)
    except msgspec.MsgspecError:
        return _answer("denied")
    if reply.action == "cancel":
        return _answer("cancelled")
    if reply.action != "accept":
        return _answer("denied")
    content = dict(reply.content or {})
    chosen = content.pop(_CHOICE, None) or "once"
    for extent in question.offers:
        if chosen == extent and not content:
            return _answer("approved", extent)
    return _answer("denied")


def _action(raw: Raw) -> str:
    try:
        return _read_reply(raw).action
    except msgspec.MsgspecError:
        return ""


def _answer(verdict: Verdict, extent: Extent = "once") -> Answer:
    return Answer(verdict=verdict, extent=extent, by=_BY, at=time.time())
