"""How fast a child may put forms and pages before a person."""

from collections.abc import Callable, Iterable

# More than any person looks at side by side.
MOST_AT_ONCE = 32
PER_MINUTE = 20
TOO_FAST = f"too many questions in a short time; a person is asked at most {PER_MINUTE} a minute"
_SHOWN_TO_A_PERSON = "elicitation/create"
_REST_S = 60 / PER_MINUTE


class QuestionRate:
    """So many questions to a session at once, then so many a minute."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        # When each session will have had its rest from all that it was asked.
        self._rested_at: dict[str, float] = {}

    def allows(self, session_id: str, methods: Iterable[str]) -> bool:
        """Whether these questions may be asked now; if so, they count."""
        now = self._clock()
        self._rested_at = {each: at for each, at in self._rested_at.items() if at > now}
        rest_s = _REST_S * sum(method == _SHOWN_TO_A_PERSON for method in methods)
        rested_at = self._rested_at.get(session_id, now) + rest_s
        if rest_s and round((rested_at - now) / _REST_S) > MOST_AT_ONCE:
            return False
        self._rested_at[session_id] = rested_at
        return True
