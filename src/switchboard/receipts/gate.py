"""A call that writes and is sent again before its answer was delivered is not run again."""

import asyncio
import time
from collections.abc import Awaitable

from msgspec.json import encode

from switchboard.core.calls.call import Call, Outcome
from switchboard.core.calls.receipts import Following, KeptOutcome, Receipt
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.ports import Next
from switchboard.core.privacy.secrets import NO_SECRETS, Redact
from switchboard.receipts.book import CallBook
from switchboard.receipts.identity import Place, place_of
from switchboard.receipts.words import failed_again, outcome_of, told_again

# So often a client that waits for another call hears that it does. Hosts give up after 60 s.
SILENCE_S = 15.0
_PROGRESS = "notifications/progress"


class ReceiptGate:
    """Notes what is about to change something, and answers repeats with what became of the first.

    Nothing is asked, and nothing runs, for a call that repeats another of its session.
    """

    def __init__(
        self, book: CallBook, hide: Redact = NO_SECRETS, *, silence_s: float = SILENCE_S
    ) -> None:
        self._book = book
        self._hide = hide
        self._silence_s = silence_s

    def __call__(self, call: Call, proceed: Next, /) -> Awaitable[Outcome]:
        tool, book, channel = call.tool, self._book, call.channel
        if (
            tool.effects.read_only is True
            or channel is None
            or not tool.is_tool
            or tool.policy.knows_repeats
        ):
            return proceed(call)
        place = place_of(call)
        receipt = Receipt(
            call.id,
            call.session,
            tool,
            call.via,
            call.clock,
            call.began_at,
            self._hide,
            book,
            call,
            place,
        )
        channel.hold(receipt)
        if channel.receipt is not receipt:
            # A part of another call, whose answer is the one that is delivered.
            return proceed(call)
        if not book.may_hold and book.writing.setdefault(place, receipt) is receipt:
            return proceed(call)
        return self._looked_for(call, receipt, place, proceed)

    async def _looked_for(
        self, call: Call, receipt: Receipt, place: Place, proceed: Next
    ) -> Outcome:
        """Find out whether it is the same as another. Few come here."""
        # It is nobody's first before it goes on itself.
        receipt.place = None
        first = self._book.find(call, place)
        if first is not None:
            outcome, has_ended = await self._end_of(call, first)
            if has_ended:
                return _repeated(self._book, call, (receipt, first), outcome)
        # Whoever comes while we look on disk finds this one.
        self._book.note(receipt, place)
        if first is not None or not self._book.may_hold:
            return await proceed(call)
        kept = await self._book.held(call, receipt)
        if kept is not None:
            return _repeated(self._book, call, (receipt, kept), outcome_of(kept))
        try:
            return await proceed(call)
        finally:
            # Left where it was refused on its way.
            self._book.inherited.pop(call.id, None)

    async def _end_of(self, call: Call, first: Receipt) -> tuple[Outcome | Fault | None, bool]:
        """Wait for it, as long as the client may, or until a person is asked about it.

        Then this one asks along.
        """
        if first.outcome is not None:
            return first.outcome, True
        waiting: Following = asyncio.get_running_loop().create_future()
        first.followers = [*(first.followers or ()), waiting]
        first.clock.on_asked = lambda: first.tell(None, has_ended=False)
        try:
            async with asyncio.timeout(call.client_timeout_s):
                return await self._told_meanwhile(call, first, waiting)
        except TimeoutError:
            raise Fault(
                FaultCode.DEADLINE_EXCEEDED,
                "tool-timeout",
                f"`{call.tool.name}` did not finish within {call.client_timeout_s or 0:g} s",
            ) from None
        finally:
            first.followers = [each for each in first.followers if each is not waiting]
            if first.given_up == "cancelled" and not first.followers and not first.status:
                # It went on for those who waited for it, and nobody does any more.
                first.clock.cancel()

    async def _told_meanwhile(
        self, call: Call, first: Receipt, waiting: Following
    ) -> tuple[Outcome | Fault | None, bool]:
        """Wait, and have the client know that we do: its patience begins anew with every word."""
        while True:
            done, _ = await asyncio.wait({waiting}, timeout=self._silence_s)
            if done:
                return waiting.result()
            since = time.strftime("%H:%M:%S", time.localtime(first.came_at))
            words = f"call {first.id}, the same one, is under way since {since}"
            if call.channel is not None:
                call.channel.notify(_PROGRESS, encode({"message": words}))


class InheritanceGate:
    """Answers repeats of what an earlier session left, once it is agreed that this one may run.

    Who comes in a new session is asked about like anybody: what was agreed to was for another.
    """

    def __init__(self, book: CallBook) -> None:
        self._book = book

    def __call__(self, call: Call, proceed: Next, /) -> Awaitable[Outcome]:
        if call.id not in self._book.inherited:
            return proceed(call)
        return self._inherited(call, proceed)

    async def _inherited(self, call: Call, proceed: Next) -> Outcome:
        found = await self._book.inheritance(call.id)
        if found is None:
            return await proceed(call)
        receipt, kept = found
        return _repeated(self._book, call, (receipt, kept), outcome_of(kept))


def _repeated(
    book: CallBook,
    call: Call,
    pair: tuple[Receipt, Receipt | KeptOutcome],
    outcome: Outcome | Fault | None,
) -> Outcome:
    """What became of the first of a pair. Raises the fault that it was."""
    receipt, first = pair
    book.repeat(receipt, first)
    if outcome is None:
        raise Fault(FaultCode.CANCELLED, "first-cancelled", "the same call was cancelled")
    if isinstance(outcome, Fault):
        raise failed_again(outcome, first) from outcome
    # What came through a suite has no output schema that its client was shown.
    return told_again(outcome, first, is_promised=call.via is None)
