"""Asking the client's own user whether a call may run, over the channel of that call.

What is answered before a person could have read the question is nobody's word, yes or no: a key
that was typed ahead is taken back by asking once more, and a program that is as quick again has
asked nobody. See `unattended` for the hosts that do, and `approval_form` for what they show.
"""

import time

from msgspec import Raw

from switchboard.core.channels.channel import Channel, Input
from switchboard.core.faults import Fault
from switchboard.core.questions import BY_CLIENT, UNSHOWN, Answer, Extent, Question, Verdict
from switchboard.core.sessions import Session
from switchboard.surface.asking.approval_form import APPROVAL_KEY, ApprovalForm, action_of
from switchboard.surface.asking.unattended import READING_S, is_unattended
from switchboard.surface.channel import ClientChannel
from switchboard.wire.messages import encode

_TIMES = 2


class ChannelAsker:
    """Asks with a form, which a client of either era shows to its user."""

    def __init__(self, channel: Channel, session: Session) -> None:
        self._channel = channel
        self._session = session

    async def ask(self, question: Question, /) -> Answer | None:
        form = ApprovalForm(question, self._session)
        shown = form.params(self._channel.request_id)
        wanted = Input("elicitation/create", Raw(encode(shown)))
        for number in range(_TIMES):
            # The id is a secret until it is asked, so no client can bring the answer along.
            key = f"{APPROVAL_KEY}:{question.id}{f':{number}' if number else ''}"
            began = time.monotonic()
            try:
                reply = (await self._channel.ask({key: wanted}))[key]
            except Fault as fault:
                if fault.reason == "question-unanswered":
                    return _answer("expired")
                return _answer("cancelled", by=UNSHOWN)
            took_s = time.monotonic() - began
            if is_unattended(self._session, action_of(reply), took_s):
                return None
            if took_s >= READING_S:
                decided = form.read(reply)
                return _answer(decided.verdict, decided.extent)
        return None


def asker_of(channel: Channel) -> ChannelAsker | None:
    """Who asks the user of the client at the other end, if that client can."""
    if isinstance(channel, ClientChannel) and channel.can_be_shown_forms:
        return ChannelAsker(channel, channel.session)
    return None


def _answer(verdict: Verdict, extent: Extent = "once", by: str = BY_CLIENT) -> Answer:
    return Answer(verdict=verdict, extent=extent, by=by, at=time.time())
