"""Secrets that are known by their value, taken out of texts whatever form they stand in there."""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, cast

REDACTED = "[redacted]"
# Takes out of a text the values of secrets that are known by value.
Redact = Callable[[str], str]
# A shorter value would be found in every other word.
SHORTEST = 6


class KnownSecrets:
    """Values that must not be told, with the forms in which programs write them."""

    def __init__(self, values: Iterable[str] = (), *, shortest: int = SHORTEST) -> None:
        long = [value for value in values if len(value) >= shortest]
        forms = _forms(long, shortest) if long else set[str]()
        # The longest first: one may be a part of another.
        self.forms = tuple(sorted(forms, key=lambda form: (-len(form), form)))
        self.longest = len(self.forms[0]) if self.forms else 0
        self._pattern = re.compile("|".join(map(re.escape, self.forms))) if self.forms else None

    def __call__(self, text: str) -> str:
        """The text without them."""
        return self.counted(text)[0]

    def counted(self, text: str) -> tuple[str, int]:
        """The text without them, and how many there were."""
        # Looking for plain texts is far quicker than the pattern, and most texts hold none.
        if self._pattern is None or not any(form in text for form in self.forms):
            return text, 0
        return self._pattern.subn(REDACTED, text)

    def begun_in(self, text: str) -> int:
        """How many letters at the end of a text may be the beginning of a secret."""
        longest = 0
        for form in self.forms:
            at = text.find(form[0], max(0, len(text) - len(form) + 1))
            while at >= 0:
                if len(text) - at <= longest:
                    break
                if form.startswith(text[at:]):
                    longest = len(text) - at
                    break
                at = text.find(form[0], at + 1)
        return longest


NO_SECRETS = KnownSecrets()
# Names come with every call, and are few.
_SHORT = 64
_MOST_SHORT = 1_024


class SecretBook:
    """Every secret that was looked up so far.

    It grows: a process that was started with an old value may still tell it. Forgotten is only what
    has become worthless, and would be endless.
    """

    def __init__(self) -> None:
        self._values: set[str] = set()
        self._written: set[str] = set()
        self._known: KnownSecrets | None = NO_SECRETS
        self._in_questions: KnownSecrets | None = NO_SECRETS
        self._short: Redact = NO_SECRETS

    def learn(self, values: Iterable[str]) -> None:
        """From now on these are taken out too."""
        new = set(values) - self._values
        if new:
            self._values |= new
            # Made when a text comes: whoever looks something up is about to start a process.
            self._known = self._in_questions = None

    def learn_written(self, values: Iterable[str]) -> None:
        """The same for what a repository says in plain text, but not in questions."""
        new = set(values) - self._written
        if new:
            self._written |= new
            self._known = None

    def forget(self, values: Iterable[str]) -> None:
        """These are worth nothing any more, as a token is that was replaced by another."""
        self._values -= set(values)
        self._known = self._in_questions = None

    def in_question(self, text: str) -> str:
        """The text as a person judges it.

        What a repository has written is nothing to hide from them, and would let its author hide
        what they agree to.
        """
        if self._in_questions is None:
            self._in_questions = KnownSecrets(self._values)
        return self._in_questions(text)

    def __call__(self, text: str) -> str:
        """The text without them."""
        known = self._known or self.known
        return self._short(text) if len(text) <= _SHORT else known(text)

    @property
    def known(self) -> KnownSecrets:
        """All of them as they are now."""
        if self._known is None:
            self._known = KnownSecrets(self._values | self._written)
            self._short = lru_cache(_MOST_SHORT)(self._known)
        return self._known

    def __repr__(self) -> str:
        return f"SecretBook({len(self._values | self._written)})"


def without_secrets(value: Any, hide: Redact) -> Any:
    """A tree of plain values whose texts, keys included, hold none."""
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {hide(key): without_secrets(inner, hide) for key, inner in members.items()}
    if isinstance(value, list | tuple):
        return [without_secrets(inner, hide) for inner in cast("list[Any]", value)]
    return value


def _forms(values: Iterable[str], shortest: int) -> set[str]:
    from switchboard.core.privacy.secret_forms import forms_of  # noqa: PLC0415 - many boards know no secret

    return {form for value in values for form in forms_of(value) if len(form) >= shortest}
