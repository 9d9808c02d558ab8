"""Text for people: columns, counted nouns, and nothing that deceives the eye."""

from collections.abc import Callable, Iterator, Sequence

_GAP = "  "
# So much of a cell is left at least, and so much where another column can be left out instead.
_LEAST = 8
_ENOUGH = 16


def columns(
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[int] = (),
    width: int = 0,
    elastic: Sequence[int] = (),
    spare: Sequence[int] = (),
    ends: Sequence[int] = (),
    paint: Callable[[int, int, str], str] | None = None,
) -> Iterator[str]:
    """Rows in columns, each as wide as its widest cell; those at `right` end at the right.

    Where a `width` is given, cells of the `elastic` columns are cut until a row fits into it; the
    first row, which is the heading, stays whole. Where that is not enough, `spare` columns are left
    out, one after the other. Of the columns in `ends` the end of a cell is kept, not its beginning.

    Cells are plain text: what marks them up is `paint`, which gets the row, the column and the cell
    as it is shown, so that no mark is counted as text, and no text is taken for a mark.
    """
    rows = [[visible(cell) for cell in row] for row in rows]
    counted = [[columns_of(cell) for cell in row] for row in rows]
    widths = [max(sizes) for sizes in zip(*counted, strict=True)]
    heads = [columns_of(cell) for cell in rows[0]] if rows else []
    least, enough = (
        [
            min(size, max(some, head)) if at in elastic else size
            for at, (size, head) in enumerate(zip(widths, heads, strict=True))
        ]
        for some in (_LEAST, _ENOUGH)
    )
    shown = list(range(len(widths)))
    for at in spare:
        if not width or _whole(enough, shown) <= width:
            break
        shown.remove(at)
    while width and _whole(widths, shown) > width:
        # The widest gives way first, so that none is cut to nothing while others are whole.
        cuttable = [at for at in elastic if at in shown and widths[at] > least[at]]
        if not cuttable:
            break
        widths[max(cuttable, key=lambda at: widths[at])] -= 1
    for number, row in enumerate(rows):
        padded: list[str] = []
        for at in shown:
            cell = (fitted_end if at in ends else fitted)(row[at], widths[at])
            blanks = " " * (widths[at] - columns_of(cell))
            text = paint(number, at, cell) if paint else cell
            padded.append(blanks + text if at in right else text + blanks)
        yield _GAP.join(padded).rstrip()


def _whole(widths: Sequence[int], shown: Sequence[int]) -> int:
    """How wide a row of these columns is."""
    return sum(widths[at] for at in shown) + len(_GAP) * (len(shown) - 1)


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


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 server`, `2 servers`; a plural that is formed in another way is given."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural or f'{noun}s'}"


def fitted(text: str, width: int) -> str:
    """The text, cut where it would not fit into so many columns of a terminal."""
    if columns_of(text) <= width:
        return text
    cut = text[: max(width - 1, 0)]
    while columns_of(cut) > width - 1 and cut:
        cut = cut[:-1]
    return f"{cut}…"


def fitted_end(text: str, width: int) -> str:
    """The end of the text, where all of it would not fit into so many columns."""
    if columns_of(text) <= width:
        return text
    cut = text[max(len(text) - width + 1, 0) :]
    while columns_of(cut) > width - 1 and cut:
        cut = cut[1:]
    return f"…{cut}"


def columns_of(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    # Most text is ASCII, and this is a library of its own.
    from unicodedata import east_asian_width  # noqa: PLC0415

    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def wrapped(text: str, width: int, head: str = "") -> Iterator[str]:
    """A line in as many rows of a terminal as it takes; nothing of it is left out.

    Each row but the first begins with the `head`.
    """
    # A row has room for as much of the text again.
    width = max(width, 2 * columns_of(head), 1)
    while columns_of(text) > width:
        at = width
        while columns_of(text[:at]) > width:
            at -= 1
        # At a blank, if there is one in the second half: a word is read as one.
        blank = text.rfind(" ", width // 2, at)
        cut = blank + 1 if blank > 0 else max(at, 1)
        yield text[:cut].rstrip() if blank > 0 else text[:cut]
        text = head + text[cut:]
    yield text
