"""Where the page of a home was served last, and whether it still is."""

import os
from contextlib import suppress

import msgspec
from msgspec import Struct

from switchkit.files import make_folder, open_private, replace_file

_NAME = "page.json"
_MOST_BYTES = 4_096


class PageNote(Struct, frozen=True, kw_only=True):
    """A port, and whether a daemon that finds this is to serve the page there again."""

    port: int = 0
    is_open: bool = True


_NONE = PageNote(is_open=False)


def noted_page(home: str) -> PageNote:
    """What is noted; a note that cannot be read is none."""
    try:
        with os.fdopen(open_private(f"{home}/{_NAME}", os.O_RDONLY, mend=False), "rb") as file:
            note = msgspec.json.decode(file.read(_MOST_BYTES), type=PageNote)
    except (OSError, msgspec.MsgspecError):
        return _NONE
    return note if 0 < note.port < 1 << 16 else _NONE


def write_page_note(home: str, note: PageNote) -> None:
    """Note it; without a note the next page is served elsewhere, and nothing else is lost."""
    with suppress(OSError):
        make_folder(home)
        replace_file(f"{home}/{_NAME}", msgspec.json.encode(note))
