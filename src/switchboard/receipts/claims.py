"""Who is answered with an outcome that lies on disk."""

import time

from msgspec import Struct

from switchboard.core.calls.call import Call
from switchboard.core.calls.receipts import KeptOutcome
from switchboard.receipts.identity import session_claim, successor_claim

# As long as the same request of an agent finds the run that it started.
CLAIMED_S = 3600.0

Place = tuple[str, str, str]


class _Claim(Struct):
    """One outcome: the session that may have it, and whether that has ended."""

    id: str
    session: str
    until: float
    session_claim: str
    successor_claim: str
    is_left: bool


class Claims:
    """Every outcome that a repeated call may be answered with, by where that is looked for."""

    def __init__(self) -> None:
        self._claims: dict[Place, list[_Claim]] = {}
        self._places: dict[str, Place] = {}

    def __len__(self) -> int:
        return len(self._places)

    def add(self, kept: KeptOutcome, *, is_left: bool) -> None:
        """An outcome lies on disk. One that was on its way may have been read since."""
        until = kept.ended_at + CLAIMED_S
        if kept.was_sent or not kept.session_claim or until < time.time():
            return
        self.drop(kept.id)
        place = self._places[kept.id] = (kept.workspace, kept.suite, kept.tool)
        claim = _Claim(
            kept.id, kept.session, until, kept.session_claim, kept.successor_claim, is_left
        )
        self._claims.setdefault(place, []).append(claim)

    def find(self, call: Call) -> tuple[str, bool]:
        """The call whose outcome a call is answered with, the latest first; empty for none.

        Also whether it is one of the same session.
        """
        if not self._places:
            return "", False
        via = call.via.name if call.via is not None else ""
        claims = self._claims.get((call.session.workspace, via, call.tool.name), [])
        now = time.time()
        for each in [each for each in claims if each.until < now]:
            self.drop(each.id)
        if not claims:
            return "", False
        own, successor = session_claim(call), successor_claim(call)
        for each in reversed(claims):
            if own and each.session_claim == own:
                return each.id, True
            if each.is_left and successor and each.successor_claim == successor:
                return each.id, False
        return "", False

    def has(self, call_id: str) -> bool:
        """Whether nobody has it yet."""
        return call_id in self._places

    def leave(self, session_id: str) -> None:
        """A session has ended; the same client may come back for what it left."""
        for claims in self._claims.values():
            for each in claims:
                if each.session == session_id:
                    each.is_left = True

    def drop(self, call_id: str) -> None:
        """Somebody has it, or it is gone."""
        place = self._places.pop(call_id, None)
        if place is not None:
            left = [each for each in self._claims[place] if each.id != call_id]
            if left:
                self._claims[place] = left
            else:
                del self._claims[place]
