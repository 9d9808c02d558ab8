"""Names that others chose, in a line of ours: none of them can be taken for a part of that line.

The first line of a question sets its parts apart with dots and blanks. A tool may be named by its
server as it likes, also with dots and blanks; so whatever is no plain name stands in quotation
marks, and every letter in it that is no letter of a script as its code.
"""

import unicodedata

from switchboard.approvals.wording.fitting import GAP, shortened, shortened_path
from switchboard.core.privacy.cleaning import code_of, written_out
from switchkit.cli.columns import columns_of

_COMMON = frozenset("_-./@:+~=")
# Letters by their kind, and dots by their look.
_DOTS = frozenset("\u1427\u318d\ua78f")


def named(name: str, columns: int = 0) -> str:
    """A name, whole or within so many columns; what is no plain name is in quotation marks."""
    if not _is_plain(name):
        return _quoted(name, columns)
    return shortened(name, columns) if columns else name


def placed(folder: str, columns: int = 0) -> str:
    """The same for a folder, of which the last names say most."""
    if not _is_plain(folder):
        return _quoted(folder, columns)
    return shortened_path(folder, columns) if columns else folder


def of_server(server: str, tool: str, account: str = "", columns: int = 0) -> str:
    """A tool of a server, as one of its accounts: `notes.read`, `notes.read as work`.

    Where it has to be shortened, most is left of the tool: its name says what is done.
    """
    # A command tool is a server of its own name.
    has_server = server not in {"", tool}
    for limits in ((0, 0), (columns // 3, columns // 4)):
        whose = f"{_server(server, limits[0])}." if has_server else ""
        more = f" as {named(account, limits[1])}" if account else ""
        left = columns - columns_of(f"{whose}{more}")
        if not columns or left >= columns // 2:
            break
    return f"{whose}{named(tool, max(left, 1) if columns else 0)}{more}"


def _server(server: str, columns: int) -> str:
    # A dot stands between the server and its tool.
    return _quoted(server, columns) if "." in server else named(server, columns)


def _is_plain(name: str) -> bool:
    return bool(name) and all(map(_is_common, name))


def _is_common(letter: str) -> bool:
    if letter.isascii():
        return letter.isalnum() or letter in _COMMON
    is_letter = unicodedata.category(letter)[0] in "LMN"
    return is_letter and letter not in _DOTS and written_out(letter) == letter


def _quoted(name: str, columns: int) -> str:
    whole = f'"{_told(name)}"'
    if not columns or columns_of(whole) <= columns:
        return whole
    for kept in range(min(columns, len(name)), 0, -1):
        end = len(name) - kept // 2
        short = f'"{_told(name[: kept - kept // 2])}{GAP}{_told(name[end:])}"'
        if columns_of(short) <= columns:
            return short
    return f'"{GAP}"'


def _told(text: str) -> str:
    return "".join(map(_letter, text))


def _letter(letter: str) -> str:
    if letter == '"':
        return '\\"'
    if _is_common(letter) or (letter.isascii() and letter.isprintable()):
        return letter
    return code_of(letter)
