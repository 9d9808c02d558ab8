"""Words of others without anything that could deceive the eye or steer a terminal."""

import re
import unicodedata

from switchkit.patterns import pattern

# Escape sequences of terminals, with what they carry.
_ANSI = pattern(
    r"\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)"
    r"|\x1b[ -/]*[0-~]"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
# Shown as nothing although Unicode does not count them as format characters: fillers, selectors of
# variants, the joiner of graphemes, and the blank pattern of Braille.
_BLANKS = pattern("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
                     "\U000e0100-\U000e01ef]")  # fmt: skip
_LINE_ENDS = pattern("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
# Controls, formats (bidi, zero-width, tags), surrogates, private use, unassigned.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
# More marks on one letter than any language needs hide the lines around it.
_MARK = r"[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]"
_MARKS = pattern(f"({_MARK}{{3}}){_MARK}+")
_CUT = " … (cut)"
# A blank as it is written out, in JSON or as it is; and more of them than a line has, or of one
# code. Ends of lines count as blanks.
_BLANK = pattern(
    r"[ \n]|\\[nrt]|\\u(?:000[9a-d]|001[c-f]|0085|00a0|1680|200[0-9ab]|202[89f]|205f|2800|3000"
    r"|3164)"
)
_LONG_RUNS = pattern(
    rf"(?:{_BLANK.pattern}){{65,}}|(?P<same>\\u[0-9a-f]{{4}}|\\U[0-9a-f]{{8}})(?P=same){{15,}}"
)


def cleaned(text: str, limit: int) -> str:
    """The text as plain lines, with nothing in it that is not seen, and no link that works."""
    # Cut first as well: cleaning something endless would take as long.
    text = text[: limit * 4]
    text = _ANSI.sub("", text)
    text = _LINE_ENDS.sub("\n", text).replace("\t", " ")
    if not text.isascii() or not text.replace("\n", "").isprintable():
        text = "".join(letter for letter in text if _is_seen(letter))
        text = _MARKS.sub(r"\1", _BLANKS.sub("", text))
    text = text.replace("://", ":/ /").replace("](", "] (").replace("`", "'")
    text = re.sub(r"\n\s*\n+", "\n", text).strip()
    return text if len(text) <= limit else text[: limit - len(_CUT)].rstrip() + _CUT


def cleaned_line(text: str, limit: int) -> str:
    """The same in one line."""
    return " ".join(cleaned(text, limit).split())


def written_out(text: str) -> str:
    """The text whole, in one line, with every letter that is not plainly seen as its code.

    For what will be done: there, nothing may be left out.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(letter if _is_plain(letter) else code_of(letter) for letter in text)


def blanks_counted(text: str) -> str:
    """What was written out, with long runs of blanks told by their number, in marks of ours.

    A hundred lines of nothing would push what follows out of sight.
    """
    for mark in "⟦⟧":
        text = text.replace(mark, code_of(mark))
    return _LONG_RUNS.sub(_counted, text)


def _counted(run: re.Match[str]) -> str:
    if (same := run["same"]) is not None:
        return f"⟦{len(run[0]) // len(same):,} times {same}⟧"
    return f"⟦{len(_BLANK.findall(run[0])):,} blanks⟧"


def _is_seen(letter: str) -> bool:
    return letter == "\n" or unicodedata.category(letter) not in _UNSEEN


def _is_plain(letter: str) -> bool:
    return letter == " " or (letter.isprintable() and not _BLANKS.match(letter))


def code_of(letter: str) -> str:
    """A letter as its code, as JSON and Python write it."""
    number = ord(letter)
    return f"\\u{number:04x}" if letter <= "\uffff" else f"\\U{number:08x}"
