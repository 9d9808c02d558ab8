"""What is told of a program's own words, and how much of them."""

from switchboard.core.privacy.secrets import NO_SECRETS, Redact
from switchkit.patterns import pattern

_PATH = pattern(r"(?:file://|(?<![\w/.]))(?:/[\w.@+~-]+){2,}/?")
_MAX_CHARS = 2_000
# Of what is cut the end tells more than the beginning: there stands why it failed.
_HEAD_CHARS = 600


def server_words(text: str, secrets: Redact = NO_SECRETS) -> str:
    """What a server answered, as it is but for secrets: a path in it is a part of the answer."""
    return _shortened(secrets(text))


def client_excerpt(text: str, secrets: Redact = NO_SECRETS, *, workspace: str = "") -> str:
    """What a client may read of a program's output: no secret, no path of the machine.

    Paths of the workspace become relative to it.
    """
    text = secrets(text)
    if workspace.strip("/"):
        text = text.replace(f"{workspace.rstrip('/')}/", "")
    return _shortened(_PATH.sub("<path>", text))


def _shortened(text: str) -> str:
    """The text without its middle where it is too long."""
    if len(text) <= _MAX_CHARS:
        return text
    mark = f" … [{len(text)} characters, the middle is left out] … "
    return text[:_HEAD_CHARS] + mark + text[_HEAD_CHARS + len(mark) - _MAX_CHARS :]
