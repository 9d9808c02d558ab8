"""What a client may read of a child's own words."""

import re

_PATH = re.compile(r"(?:file://|(?<![\w/.]))(?:/[\w.@+~-]+){2,}/?")
_MAX_CHARS = 2_000
_SHORTEST_SECRET = 4


def without_secrets(text: str, secrets: frozenset[str]) -> str:
    """The text with every secret value hidden, as our own log may have it."""
    for value in sorted(secrets, key=len, reverse=True):
        if len(value) >= _SHORTEST_SECRET:
            text = text.replace(value, "[redacted]")
    return text


def client_excerpt(text: str, secrets: frozenset[str] = frozenset()) -> str:
    """The end of `text` without absolute paths and without any of the secret values."""
    return _PATH.sub("<path>", without_secrets(text, secrets))[-_MAX_CHARS:]
