"""The words of a text, as the index knows them: in parts, in lower case, without their endings."""

import re
import unicodedata

# A name in parts: `listRepos2`, `HTTPServer`. Digits are a part of their own.
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\dA-Za-z_]+")
_JOINED = re.compile(r"\b[A-Z][a-z]+(?:[A-Z][a-z]*)+\b")
# Scripts that put no space between words: Chinese characters, kana, Thai and its neighbours.
_UNSPACED = (
    *(("\u0e00", "\u0eff"), ("\u1000", "\u109f"), ("\u1780", "\u17ff")),
    *(("\u3040", "\u30ff"), ("\u3400", "\u9fff")),
)
_MARKS = re.compile(r"[\W_]+")

# Words that a sentence has whatever it asks for.
_STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        a about all also an and any are as at be been but by can could do does every for from get
        give had has have help how i if in into is it its just let like me my need of on one or
        our out please should so some tell that the their them then there these they this to up us
        use using want was we what when where which who will with would you your
        """,
    )
)

# What an ending becomes, tried in this order. A stem is an index key, not a word of the language.
_ENDINGS = (
    ("ications", "ic"),
    ("ication", "ic"),
    ("ations", "at"),
    ("ation", "at"),
    ("ators", "at"),
    ("ator", "at"),
    ("ating", "at"),
    ("ated", "at"),
    ("ates", "at"),
    ("ions", ""),
    ("ion", ""),
    ("sses", "ss"),
    ("ies", "y"),
    ("ied", "y"),
    ("ings", ""),
    ("ing", ""),
    ("ers", "er"),
    ("ed", ""),
    ("es", ""),
    ("ss", "ss"),
    ("us", "us"),
    ("s", ""),
    ("e", ""),
)
_LAST_LETTERS = frozenset(ending[-1] for ending, _ in _ENDINGS)
_SHORTEST_STEM = 3


def words(text: str) -> list[str]:
    """The words of a text in their order, those that say nothing left out."""
    found: list[str] = []
    for part in _PARTS.findall(unicodedata.normalize("NFKC", text)):
        if not part.isascii() and _is_unspaced(part):
            found += _pairs(part)
        elif (word := part.lower()) not in _STOP_WORDS:
            found.append(stem(word))
    return found


def joined_names(text: str) -> list[str]:
    """Names that are written with capitals inside, each as one word: `github` of `GitHub`."""
    return [stem(name.lower()) for name in _JOINED.findall(unicodedata.normalize("NFKC", text))]


def lowered(text: str) -> list[str]:
    """All words of a text in their order and in lower case, with their endings."""
    return [part.lower() for part in _PARTS.findall(unicodedata.normalize("NFKC", text))]


def stem(word: str) -> str:
    """A word without its ending, so that forms of one word meet."""
    if word[-1:] not in _LAST_LETTERS:
        return word
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) + len(instead) >= _SHORTEST_STEM:
            return _undoubled(word[: len(word) - len(ending)] + instead)
    return word


def squeezed(name: str) -> str:
    """A name in any spelling: `list_repos`, `list-repos` and `listRepos` are the same."""
    return _MARKS.sub("", unicodedata.normalize("NFKC", name)).casefold()


def _undoubled(word: str) -> str:
    # "running" and "run", but "call" stays.
    is_doubled = len(word) > _SHORTEST_STEM and word[-1] == word[-2] and word[-1] in "bdgmnprt"
    return word[:-1] if is_doubled else word


def _is_unspaced(part: str) -> bool:
    return any(first <= part[0] <= last for first, last in _UNSPACED)


def _pairs(text: str) -> list[str]:
    """Each two neighbouring letters, where words cannot be told apart."""
    return [text[i : i + 2] for i in range(len(text) - 1)] or [text]
