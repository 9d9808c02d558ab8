"""Codes by which a device is registered: shown in a terminal, typed on the device."""

from switchboard.approvals.queue import new_id
from switchboard.core.single_use import SingleUse

PAIR_S = 600.0
_MOST_CODES = 4
# Then every code is void: nobody tries them out.
_MOST_MISSES = 5


class PairingCodes:
    """The codes of one listener. Each registers one device."""

    def __init__(self) -> None:
        self._codes: SingleUse[bool] = SingleUse(new_id, lasts_s=PAIR_S, most=_MOST_CODES)
        self._misses = 0

    def issue(self) -> str:
        """A code for one device."""
        return self._codes.issue(True)

    def take(self, code: str) -> bool:
        """Use a code up; false if there is none such."""
        if self._codes.take("".join(code.lower().split()).replace("-", "")):
            return True
        self._misses += 1
        if self._misses >= _MOST_MISSES:
            self._codes.clear()
        return False
