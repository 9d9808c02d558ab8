"""How a process that is started for a board finds the way back to it.

A board is found by the environment of its clients, which may hold secrets. What an engine starts
knows only a mark of it: of use in the process that made it, and to nobody else.
"""

import hashlib
import os
from collections.abc import Mapping

_KEY = os.urandom(32)
_BYTES = 16


def board_mark(workspace: str, environ: Mapping[str, str]) -> str:
    """The mark of a board, for as long as this process runs."""
    digest = hashlib.blake2b(key=_KEY, digest_size=_BYTES)
    for text in (workspace, *(part for item in sorted(environ.items()) for part in item)):
        data = text.encode("utf-8", "surrogateescape")
        digest.update(b"%d:" % len(data) + data)
    return digest.hexdigest()
