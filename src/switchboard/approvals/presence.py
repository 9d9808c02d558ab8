"""Proof that a person is there: a short code that only a terminal of their own has shown.

A page in a browser may be driven by a program, and by the very client that asks. So each yes that
is given there takes one code, which was handed to a process that no client had started.
"""

from collections.abc import Generator
from contextlib import contextmanager

from msgspec import Struct

from switchboard.approvals.approver import Approver
from switchboard.approvals.queue import new_id
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.single_use import SingleUse

CODE_S = 600.0
_HALF = 4
_MOST_CODES = 16
# Then every code is void: nobody tries them out.
_MOST_MISSES = 5
_MORE = "type `switchboard open --code` in a terminal of your own"
_LASTING = "type `switchboard open --code --lasting` in a terminal of your own"


class _Code(Struct, frozen=True):
    shown_to: Approver
    is_lasting: bool


class PresenceCodes:
    """The codes of one daemon. Each remembers the process that it was shown to."""

    def __init__(self) -> None:
        self._codes: SingleUse[_Code] = SingleUse(new_id, lasts_s=CODE_S, most=_MOST_CODES)
        self._misses = 0

    def issue(self, shown_to: Approver, *, is_lasting: bool = False) -> str:
        """A code for whoever sits at this process, which no client may have started.

        It is for one call. How far a yes goes is chosen on the page, by whoever drives that; so
        one that goes further takes a code that was asked for as such.
        """
        self._misses = 0
        return self._codes.issue(_Code(shown_to, is_lasting))

    @contextmanager
    def spent(self, code: str, *, is_lasting: bool = False) -> Generator[Approver]:
        """Use a code up for what is done in the block; the code is void also if that fails.

        Gives the process that it was shown to. Raises a fault when it is none, or is not for an
        answer that goes so far.
        """
        if not code:
            raise Fault(
                FaultCode.PERMISSION_DENIED,
                "presence-unproven",
                "a yes on the page takes a code, which proves that a person is there",
                hint=_MORE,
            )
        plain = "".join(code.lower().split()).replace("-", "")
        looked_at = self._codes.look(plain)
        if is_lasting and looked_at is not None and not looked_at.is_lasting:
            raise Fault(
                FaultCode.PERMISSION_DENIED,
                "presence-unproven",
                "this code is for one call: a yes for the session, or for good, takes another one",
                hint=_LASTING,
            )
        found = self._codes.take(plain)
        if found is None:
            self._misses += 1
            if self._misses >= _MOST_MISSES:
                self._codes.clear()
            raise Fault(
                FaultCode.PERMISSION_DENIED,
                "presence-unproven",
                "this code is wrong, has been used, or is too old",
                hint=_MORE,
            )
        yield found.shown_to


def shown_code(code: str) -> str:
    """A code as a person reads it."""
    return f"{code[:_HALF]}-{code[_HALF:]}"
