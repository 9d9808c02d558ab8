"""Text for people: columns, counted nouns, and nothing that deceives the eye."""

from collections.abc import Iterator, Sequence

_GAP = "  "
# So much of a cell is left at least.
_LEAST = 8


def columns(
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[int] = (),
    width: int = 0,
    elastic: Sequence[int] = (),
) -> Iterator[str]:
    """Rows in columns, each as wide as its widest cell; those at `right` end at the right.

    Where a `width` is given, cells of the `elastic` columns are cut until a row fits into it.
    """
    rows = [[visible(cell) for cell in row] for row in rows]
    widths = [max(_width(row[at]) for row in rows) for at in range(len(rows[0]))] if rows else []
    room = width - len(_GAP) * (len(widths) - 1)
    while width and sum(widths) > room:
        # The widest gives way first, so that none is cut to nothing while others are whole.
        widest = max(elastic, key=lambda at: widths[at])
        if widths[widest] <= _LEAST:
            break
        widths[widest] -= 1
    for row in rows:
        padded = [
            _padded(fitted(cell, size), size, at_right=at in right)
            for at, (cell, size) in enumerate(zip(row, widths, strict=True))
        ]
        yield _GAP.join(padded).rstrip()


def _padded(cell: str, width: int, *, at_right: bool) -> str:
    blanks = " " * (width - _width(cell))
    return blanks + cell if at_right else cell + blanks


def visible(text: str) -> str:
    """The text in one line, with every character that could deceive the eye written out.

    Names and commands come from files of others. Control characters could repaint what stands
    beside them, such as the command that a user is about to trust.
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in text
    )


def counted(number: int, noun: str) -> str:
    """`1 server`, `2 servers`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def fitted(text: str, width: int) -> str:
    """The text, cut where it would not fit into so many columns of a terminal."""
    if _width(text) <= width:
        return text
    cut = text[: max(width - 1, 0)]
    while _width(cut) > width - 1 and cut:
        cut = cut[:-1]
    return f"{cut}…"


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    # Most text is ASCII, and this is a library of its own.
    from unicodedata import east_asian_width  # noqa: PLC0415

    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)
