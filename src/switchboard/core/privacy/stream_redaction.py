"""Secrets taken out of a text that comes in pieces. No border between two pieces hides one.

What is passed on ends with a line, because what tells a token or an assignment stands in one. A
line that does not end is passed on when it has grown long, all but its end.
"""

from switchboard.core.privacy.redaction import redacted_text
from switchboard.core.privacy.secrets import NO_SECRETS, REDACTED, KnownSecrets
from switchkit.patterns import pattern

# More than any known token is long.
_LONGEST_WORD = 8_192
_KEY_BEGINS = pattern(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----")
_KEY_ENDS = pattern(r"-----END [A-Z ]{0,40}-----")


class StreamRedactor:
    """Keeps back what may be the beginning of a secret, and gives the rest."""

    def __init__(self, secrets: KnownSecrets = NO_SECRETS) -> None:
        self._secrets = secrets
        self._held = ""
        self._in_key = False
        # How many values that are known were taken out.
        self.count = 0

    def feed(self, text: str) -> str:
        """What can be told of everything so far."""
        self._held += text
        end = self._line_end()
        while end:
            # Of a value with several lines the first ones may be here already.
            begun = self._secrets.begun_in(self._held[:end])
            if not begun:
                break
            end = _last_line_end(self._held, end - begun)
        told, self._held = self._held[:end], self._held[end:]
        return self._redacted(told)

    def flush(self) -> str:
        """What is left, once nothing comes after it."""
        told, self._held = self._held, ""
        return self._redacted(told)

    def _line_end(self) -> int:
        if end := _last_line_end(self._held, len(self._held)):
            return end
        room = max(_LONGEST_WORD, 2 * self._secrets.longest)
        if len(self._held) <= 2 * room:
            return 0
        return self._whole(len(self._held) - room)

    def _whole(self, end: int) -> int:
        """A place at which no value that is known is cut in two."""
        around = self._held[max(0, end - self._secrets.longest) : end + self._secrets.longest]
        start = max(0, end - self._secrets.longest)
        for form in self._secrets.forms:
            at = around.find(form)
            while at >= 0:
                if start + at < end < start + at + len(form):
                    return start + at
                at = around.find(form, at + 1)
        return end

    def _redacted(self, text: str) -> str:
        if not text:
            return ""
        if self._in_key:
            ends = _KEY_ENDS.search(text)
            if ends is None:
                return ""
            self._in_key, text = False, text[ends.end() :]
        text, count = self._secrets.counted(text)
        self.count += count
        begins = next(reversed([*_KEY_BEGINS.finditer(text)]), None)
        if begins is not None and _KEY_ENDS.search(text, begins.end()) is None:
            self._in_key = True
            return redacted_text(text[: begins.start()]) + REDACTED + "\n"
        return redacted_text(text)


def _last_line_end(text: str, end: int) -> int:
    return max(text.rfind("\n", 0, end), text.rfind("\r", 0, end)) + 1
