"""Where a phone reaches the queue, as the process that listens there notes it in the home."""

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress

import msgspec
from msgspec import Struct

from switchkit.files import make_folder, open_private, replace_file
from switchkit.processes import began, is_gone

_NAME = "pocket.json"
_MOST_BYTES = 4_096


class ServingNote(Struct, frozen=True, kw_only=True):
    """An address, and the process that answers there with when it began."""

    url: str
    server: tuple[int, int]


@contextmanager
def noted_url(home: str, url: str) -> Generator[None]:
    """Note that this process answers there, while the block lasts. Raises OSError."""
    note = ServingNote(url=url, server=(os.getpid(), began(os.getpid())))
    path = f"{home}/{_NAME}"
    make_folder(home)
    replace_file(path, msgspec.json.encode(note))
    try:
        yield
    finally:
        if _read(home) == note:
            with suppress(OSError):
                os.unlink(path)


def url_for_phones(home: str) -> str:
    """Where a phone reaches us now; nothing if it does not."""
    note = _read(home)
    return "" if note is None or is_gone(*note.server) else note.url


def _read(home: str) -> ServingNote | None:
    try:
        with os.fdopen(open_private(f"{home}/{_NAME}", os.O_RDONLY, mend=False), "rb") as file:
            return msgspec.json.decode(file.read(_MOST_BYTES), type=ServingNote)
    except (OSError, msgspec.MsgspecError):
        return None
