"""What no client may read in a child's words."""

from collections.abc import Iterable

from switchboard.core.privacy.secrets import KnownSecrets, SecretBook

# Values of a child's own variables and headers: better too much of them is hidden than too little.
_SHORTEST = 4


class Redaction:
    """Takes out the values that stay between us and one child, and every secret beside them."""

    def __init__(self, values: Iterable[str], book: SecretBook | None = None) -> None:
        self._own = KnownSecrets(values, shortest=_SHORTEST)
        # What is a secret for sure; its own values may be ordinary words.
        self.book = book or SecretBook()

    def __call__(self, text: str) -> str:
        """The text without them."""
        return self.book(self._own(text))

    def end_of(self, text: str, limit: int, *, is_cut: bool) -> str:
        """The end of a text without them. One that is cut may begin with half of one."""
        told = self(text)
        if is_cut:
            told = told[max(self._own.longest, self.book.known.longest) :]
        if len(told) <= limit:
            return told
        end = told[-limit:]
        return end[end.find("\n") + 1 :]
