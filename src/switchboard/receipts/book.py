"""Every call that is under way, those that ended lately, and the answers that nobody has yet."""

import asyncio
from collections import deque
from typing import Any

import msgspec
from msgspec import Raw

from switchboard.core.calls.call import Call, Outcome
from switchboard.core.calls.receipts import Arrival, GaveUp, KeptOutcome, Receipt
from switchboard.core.faults import Fault
from switchboard.core.loop.tasks import TaskSet
from switchboard.core.stores import KeptResults
from switchboard.receipts.claims import Claims
from switchboard.receipts.identity import (
    Place,
    is_same,
    session_claim,
    successor_claim,
)
from switchboard.receipts.kept import Write, kept_from
from switchboard.receipts.result_files import ResultFiles

# How many of those that have ended are remembered.
MOST_ENDED = 200
# So long an answer may be on its way before it is kept on disk as well.
_SOON_S, _LONGEST_S = 0.5, 8.0
# So many answers may be on their way before it is looked how far they got.
_MOST_UNSURE = 64
# The same for their bytes, so that a client that asks for much is not held twice in memory.
_MUCH_UNSURE = 256 * 1024
# How often it is looked whether what is kept has become too old.
_SWEEP_S = 600.0


class CallBook:
    """What one process knows of calls; one for all boards of a daemon."""

    def __init__(
        self,
        home: str,
        write: Write,
        *,
        outlives_clients: bool = False,
        files: KeptResults | None = None,
    ) -> None:
        """With `outlives_clients` a call may go on when its client has left.

        `files` are kept in the place of those of the home.
        """
        self.files: KeptResults = files or ResultFiles(home)
        self._write = write
        self._outlives_clients = outlives_clients
        self.under_way: dict[str, Call] = {}
        # The receipts of calls that have ended and have more to tell than that.
        self.ended: deque[Receipt] = deque(maxlen=MOST_ENDED)
        # Calls that write, by what makes them the same, until their clients have the answers.
        self.writing: dict[Place, Receipt] = {}
        # Those whose answers were sent, and may not have been read.
        self._unsure: list[Receipt] = []
        self._unsure_bytes = 0
        self._look_at = _MOST_UNSURE
        self.claims = Claims()
        # By the id of a call that repeats one of an earlier session: its receipt, and that one.
        self.inherited: dict[str, tuple[Receipt, str]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._wait_s = _SOON_S
        self._sweeping: asyncio.TimerHandle | None = None
        self._tasks = TaskSet()
        self._disk = asyncio.Lock()
        self._loading: asyncio.Task[None] | None = None
        self._is_closed = False
        # Whether an outcome on disk may be one that a call is to be answered with.
        self.may_hold = True

    # Calls that write. The gate and the surface do the rest in line: every call pays for a frame.

    def note(self, receipt: Receipt, place: Place) -> None:
        """A call may change something from now on: it is found when it is sent again."""
        receipt.place, receipt.older = place, self.writing.get(place)
        self.writing[place] = receipt

    def find(self, call: Call, place: Place) -> Receipt | None:
        """The call that this one repeats, if its client has not got the answer of that."""
        each = self.writing.get(place)
        while each is not None:
            older = each.older
            if each.delivery is not None and each.look():
                self._settle(each)
            elif each.call is not None and not _waits(each) and is_same(each.call, call):
                return each
            each = older
        return None

    def end(self, receipt: Receipt, outcome: Outcome | Fault | None, /) -> None:
        if receipt.call is None:
            self.ended.append(receipt)
            return
        receipt.outcome = outcome
        if receipt.given_up:
            self.ended.append(receipt)
        if receipt.followers:
            receipt.tell(outcome)
        if outcome is None or receipt.given_up or not receipt.clock.worked_from:
            # It did nothing, or nobody reads it here: it lies on disk, if anywhere.
            self._forget(receipt)

    def lets_go_on(self, why: GaveUp, /) -> bool:
        if self.files.keep_s <= 0:
            return False
        return why == "timed-out" or (why == "left" and self._outlives_clients)

    async def held(self, call: Call, receipt: Receipt) -> KeptOutcome | None:
        """The same as `find`, among the outcomes on disk.

        One of an earlier session is only noted: a person is asked before it is told.
        """
        if self._loading is None:
            self._loading = self._tasks.start(self._load())
        # Whoever comes meanwhile waits for it too.
        await asyncio.shield(self._loading)
        # What was delivered by now is nobody's any more.
        self.look()
        self.may_hold = bool(self.claims)
        claimed, is_own = self.claims.find(call)
        if not claimed:
            return None
        if not is_own:
            self.inherited[call.id] = (receipt, claimed)
            return None
        return await self._got(claimed)

    async def inheritance(self, call_id: str) -> tuple[Receipt, KeptOutcome] | None:
        """What a call is told of an earlier session, unless somebody has got that meanwhile."""
        receipt, claimed = self.inherited.pop(call_id)
        self.look()
        kept = await self._got(claimed) if self.claims.has(claimed) else None
        return None if kept is None else (receipt, kept)

    async def _got(self, claimed: str) -> KeptOutcome | None:
        kept = await asyncio.to_thread(self.files.get, claimed)
        if kept is None:
            self.claims.drop(claimed)
        return kept

    async def _load(self) -> None:
        """Know those of the processes before us, whose sessions have ended with them."""
        await self._tidy()
        for kept in await asyncio.to_thread(self.files.all):
            self.claims.add(kept, is_left=True)

    def repeat(self, receipt: Receipt, first: Receipt | KeptOutcome) -> None:
        """A call is answered with what became of another, which is delivered when this one is."""
        self._forget(receipt)
        receipt.book = self
        receipt.repeats, receipt.repeats_id = first, first.id

    # How far answers got

    def sent(self, receipt: Receipt, way: Arrival, mark: int, /) -> None:
        """It costs less to look later than to be told."""
        receipt.delivery, receipt.mark = way, mark
        self._unsure.append(receipt)
        outcome = receipt.outcome
        if isinstance(outcome, Outcome):
            self._unsure_bytes += outcome.size
        if len(self._unsure) > self._look_at or self._unsure_bytes > _MUCH_UNSURE:
            self.look()
        if self._timer is None:
            self._wait_s = _SOON_S
            self._plan()

    def look(self) -> None:
        """See which answers have been read, and which never will be."""
        unsure, self._unsure = self._unsure, []
        self._unsure_bytes = 0
        writing = self.writing
        for receipt in unsure:
            place, found = receipt.place, receipt.look()
            if found is None:
                self._unsure.append(receipt)
            elif not found:
                self._lose(receipt)
            elif place is None or receipt.is_kept or writing[place] is not receipt:
                self._settle(receipt)
            else:
                # The same in line: nearly all that calls leave behind goes this way.
                if receipt.older is None:
                    del writing[place]
                else:
                    writing[place] = receipt.older
                receipt.place = receipt.call = receipt.outcome = receipt.book = None
        # A client may have many that it does not read, and each of them is looked at.
        self._look_at = max(_MOST_UNSURE, 2 * len(self._unsure))

    def _plan(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._wait_s, self._ring)

    def _ring(self) -> None:
        self._timer = None
        self.look()
        for receipt in self._unsure:
            if not receipt.is_kept and receipt.outcome is not None:
                self._tasks.start(self._insure(receipt))
        if self._unsure:
            self._wait_s = min(self._wait_s * 2, _LONGEST_S)
            self._plan()

    def _settle(self, receipt: Receipt) -> None:
        """The client has the answer: sent again, it is another call."""
        self._forget(receipt)
        receipt.delivery = True
        if receipt.is_kept:
            self._claimed(receipt.id)
        if receipt.repeats is None:
            return
        first, receipt.repeats = receipt.repeats, None
        if isinstance(first, Receipt):
            self._settle(first)
        else:
            self._claimed(first.id)

    def _claimed(self, call_id: str) -> None:
        """Somebody has got what lay on disk."""
        self.claims.drop(call_id)
        if (receipt := self.receipt(call_id)) is not None:
            receipt.delivery, receipt.is_kept = True, False
        self._tasks.start(self._drop(call_id))

    def _lose(self, receipt: Receipt) -> None:
        """The client will never have the answer."""
        receipt.delivery = False
        if receipt.outcome is not None:
            if not receipt.given_up:
                receipt.given_up = "left"
                self._remember(receipt)
            self._tasks.start(self._keep_lost(receipt, receipt.outcome))

    def _remember(self, receipt: Receipt) -> None:
        """There is more to tell of it than that it ended."""
        if receipt not in self.ended:
            self.ended.append(receipt)

    def _forget(self, receipt: Receipt) -> None:
        """Hold nothing more of what it was about."""
        place, older = receipt.place, receipt.older
        receipt.place = receipt.older = receipt.call = receipt.outcome = receipt.book = None
        if place is None:
            return
        newer = self.writing[place]
        if newer is not receipt:
            while newer.older is not None and newer.older is not receipt:
                newer = newer.older
            newer.older = older
        elif older is not None:
            self.writing[place] = older
        else:
            del self.writing[place]

    # Keeping. One file at a time, so that what is done last is what lies there.

    async def keep(self, receipt: Receipt, outcome: Outcome | Fault, /) -> None:
        # To the end, whoever waits: what is told to have ended is on disk.
        await asyncio.shield(self._tasks.start(self._keep(receipt, outcome)))

    async def _keep(self, receipt: Receipt, outcome: Outcome | Fault) -> None:
        """Keep an outcome that its client will not get, for whoever asks and for the same call."""
        async with self._disk:
            call = receipt.call
            if call is None or self.files.keep_s <= 0:
                return
            claims = {
                "session_claim": session_claim(call),
                "successor_claim": successor_claim(call),
            }
            kept = await self._put(receipt, outcome, **claims)
            if kept is not None:
                receipt.is_kept = True
                self.claims.add(kept, is_left=receipt.is_left)
                self.may_hold = True

    async def _keep_lost(self, receipt: Receipt, outcome: Outcome | Fault) -> None:
        await self._keep(receipt, outcome)
        self._forget(receipt)

    async def _insure(self, receipt: Receipt) -> None:
        """Keep an outcome that may be read at any time. Should we be killed before, it is there."""
        async with self._disk:
            outcome = receipt.outcome
            if outcome is None or receipt.is_kept or receipt.delivery is False:
                return
            kept = await self._put(receipt, outcome, was_sent=True)
            receipt.is_kept = kept is not None
            self._remember(receipt)

    def late(self, receipt: Receipt, result: Raw, /) -> None:
        self._tasks.start(self._keep_late(receipt, Outcome(raw=result)))

    async def _keep_late(self, receipt: Receipt, outcome: Outcome) -> None:
        async with self._disk:
            more = {"is_late": True, "was_sent": True, "status": receipt.status}
            receipt.is_kept = await self._put(receipt, outcome, **more) is not None
            self._remember(receipt)

    async def _drop(self, call_id: str) -> None:
        async with self._disk:
            await asyncio.to_thread(self.files.drop, call_id)

    def _sweep(self) -> None:
        self._sweeping = None
        self._tasks.start(self._tidy())

    async def _tidy(self) -> None:
        """Let go of what is too old, now and for as long as something is there."""
        async with self._disk:
            left = await asyncio.to_thread(self.files.tidy)
        if left:
            self._plan_sweep()

    def _plan_sweep(self) -> None:
        if self._sweeping is None and not self._is_closed:
            self._sweeping = asyncio.get_running_loop().call_later(_SWEEP_S, self._sweep)

    async def _put(
        self, receipt: Receipt, outcome: Outcome | Fault, **more: Any
    ) -> KeptOutcome | None:
        self._plan_sweep()
        return await asyncio.to_thread(self._written, receipt, outcome, **more)

    def _written(
        self, receipt: Receipt, outcome: Outcome | Fault, **more: Any
    ) -> KeptOutcome | None:
        """Write it down, on a thread: it may be large, and every secret is looked for."""
        kept = msgspec.structs.replace(
            kept_from(receipt, outcome, self._write, self.files.keep_s), **more
        )
        return kept if self.files.put(kept) else None

    # Looking

    def receipt(self, call_id: str) -> Receipt | None:
        """What is remembered of a call."""
        call = self.under_way.get(call_id)
        if call is not None:
            return call.channel.receipt if call.channel is not None else None
        return next((each for each in self.ended if each.id == call_id), None)

    async def kept(self) -> list[KeptOutcome]:
        """The outcomes on disk, also those of other processes, without what they answered."""
        return await asyncio.to_thread(self.files.all)

    async def kept_of(self, call_id: str) -> KeptOutcome | None:
        """One of them, whole."""
        return await asyncio.to_thread(self.files.get, call_id)

    # The end

    def leave(self, session_id: str) -> None:
        """A session has ended: the same client may come back for what it left."""
        for newest in self.writing.values():
            each: Receipt | None = newest
            while each is not None:
                each.is_left = each.is_left or each.session.id == session_id
                each = each.older
        self.look()
        self.claims.leave(session_id)

    async def flush(self) -> None:
        """Have everything on disk that somebody may be told of."""
        self.look()
        for receipt in tuple(self._unsure):
            await self._insure(receipt)
        await self._tasks.wait()

    async def aclose(self) -> None:
        """Keep what nobody has read."""
        self._is_closed = True
        for timer in (self._timer, self._sweeping):
            if timer is not None:
                timer.cancel()
        await self.flush()


def _waits(receipt: Receipt) -> bool:
    """Whether a call waits for somebody who would wait for it in vain.

    While a person is asked about one that has not begun, the same one asks along. One that was
    answered with a question is gone on with by naming it; who sends it anew means another.
    """
    is_asking = receipt.clock.is_asking and not receipt.clock.worked_from
    return is_asking or receipt.is_parked
