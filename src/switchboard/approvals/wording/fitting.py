"""Texts that fit into a row of a narrow terminal, with their middle left out.

Of 80 columns the hosts that were measured leave 74 to a line of a question, cut what is longer and
show it nowhere. Both ends are kept: whoever writes a text chooses what stands at either.
"""

from switchkit.cli.columns import columns_of

# What each of the first lines of a question may take.
WIDTH = 72
GAP = "…"


def shortened(text: str, columns: int) -> str:
    """The text; where it takes more columns, its beginning and its end."""
    if columns_of(text) <= columns:
        return text
    kept = columns - 1
    while kept > 0:
        short = f"{text[: kept - kept // 2]}{GAP}{_end(text, kept // 2)}"
        if columns_of(short) <= columns:
            return short
        kept -= 1
    return GAP


def shortened_path(path: str, columns: int) -> str:
    """The path; where it takes more columns, its beginning and as many of its last names as fit."""
    if columns_of(path) <= columns:
        return path
    first, *names = path.split("/")
    for head in (f"{first}/{GAP}/", f"{GAP}/"):
        for at in range(1, len(names)):
            short = f"{head}{'/'.join(names[at:])}"
            if columns_of(short) <= columns:
                return short
    return shortened(path, columns)


def middle_counted(text: str, letters: int) -> str:
    """So many letters of a text, and in their middle how many are left out."""
    left = len(text) - letters
    # A count in place of a few letters would say less than they do.
    if left <= len(f"{GAP}(10){GAP}"):
        return text
    # The name of a file says more than the folder that all of them are in.
    end = letters * 3 // 4 if _is_path(text) else letters // 2
    return f"{text[: letters - end]}{GAP}({left:,}){GAP}{_end(text, end)}"


def _is_path(text: str) -> bool:
    return "/" in text and not any(letter.isspace() for letter in text)


def _end(text: str, letters: int) -> str:
    return text[-letters:] if letters else ""
