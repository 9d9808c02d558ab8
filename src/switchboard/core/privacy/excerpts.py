"""What a client may read of a program's own words: no secret, no path of the machine."""

import re

from switchboard.core.privacy.secrets import NO_SECRETS, Redact

_PATH = re.compile(r"(?:file://|(?<![\w/.]))(?:/[\w.@+~-]+){2,}/?")
_MAX_CHARS = 2_000


def client_excerpt(text: str, secrets: Redact = NO_SECRETS, *, workspace: str = "") -> str:
    """The end of `text` without absolute paths and without any of the secret values.

    Paths of the workspace become relative to it.
    """
    text = secrets(text)
    if workspace.strip("/"):
        text = text.replace(f"{workspace.rstrip('/')}/", "")
    return _PATH.sub("<path>", text)[-_MAX_CHARS:]
