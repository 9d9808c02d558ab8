"""Asking the client's own user whether a call may run, over the channel of that call."""

import time
from typing import Any

import msgspec
from msgspec import Raw, Struct

from switchboard.core.channel import Channel, Input
from switchboard.core.faults import Fault
from switchboard.core.questions import ASKING, Answer, Extent, Question, Verdict
from switchboard.wire.messages import encode

APPROVAL_KEY = "switchboard/approval"
_BY = "client"
# What a person can choose. Anything else, and silence, is a no.
_CHOICES: dict[Extent, str] = {"once": "allow_once", "session": "allow_session"}
_DENY = "deny"
_TITLES = {_DENY: "Deny", "allow_once": "Allow once", "allow_session": "Allow for this session"}


class _Reply(Struct):
    action: str = ""
    content: dict[str, Any] | None = None


_read_reply = msgspec.json.Decoder(_Reply).decode


class ChannelAsker:
    """Asks with a form, which a client of either era shows to its user."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    async def ask(self, question: Question, /) -> Answer:
        # The id is a secret until it is asked, so no client can bring the answer along.
        key = f"{APPROVAL_KEY}:{question.id}"
        wanted = {key: Input("elicitation/create", Raw(encode(_form(question))))}
        try:
            reply = (await self._channel.ask(wanted))[key]
        except Fault as fault:
            unanswered = fault.reason == "question-unanswered"
            return _answer("expired" if unanswered else "cancelled")
        return _read(reply, question)


def _form(question: Question) -> dict[str, Any]:
    choices = [_DENY, *(_CHOICES[extent] for extent in question.offers)]
    return {
        "mode": "form",
        "message": f"{ASKING}{question.prompt}",
        "requestedSchema": {
            "type": "object",
            "properties": {
                "decision": {
                    "type": "string",
                    "title": "Decision",
                    "oneOf": [{"const": each, "title": _TITLES[each]} for each in choices],
                    "default": _DENY,
                }
            },
            "required": ["decision"],
        },
        "_meta": {APPROVAL_KEY: {"id": question.id, "digest": question.digest}},
    }


def _read(raw: Raw, question: Question) -> Answer:
    try:
        reply = _read_reply(raw)
    except msgspec.MsgspecError:
        return _answer("denied")
    if reply.action == "cancel":
        return _answer("cancelled")
    chosen = (reply.content or {}).get("decision") if reply.action == "accept" else None
    for extent in question.offers:
        if chosen == _CHOICES[extent]:
            return _answer("approved", extent)
    return _answer("denied")


def _answer(verdict: Verdict, extent: Extent = "once") -> Answer:
    return Answer(verdict=verdict, extent=extent, by=_BY, at=time.time())
