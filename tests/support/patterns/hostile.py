"""Texts that are hard for one pattern, made from what it repeats.

What makes a pattern slow is a part without an end: it takes much, and gives it back piece by piece
when what follows is not there. So each such part is fed with what it takes, behind what must stand
before it, and the end never comes. It is also fed with nothing before it, for a search that starts
anew at each letter, and with its beginning again and again.
"""

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

# The standard library's own reading of patterns: no other says for certain what one means. Its
# types are not declared anywhere.
op: Any = import_module("re._constants")
parser: Any = import_module("re._parser")

_LETTERS = " \t\n\raAzZeE019-_./\\:;=,<>@#?&!|+*~^$%'\"`()[]{}\x1b\x07\0\x80é中"
_MANY = 64
_FLAGS_WITH_CASE = 2


class Texts:
    """Makes the texts for one pattern."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self._tree = parser.parse(pattern, flags)
        self._folds = bool(flags & _FLAGS_WITH_CASE)
        self._atoms = list(_atoms(self._tree))
        self._letters = self._telling()

    def of(self, length: int) -> Iterator[str]:
        """Each text in a length of about so many letters."""
        seen: set[str] = set()
        for before, food in self._meals():
            for text in (
                *(before + food * (length // len(food)) + end for end in ("\0", "!", "\n\0", "")),
                food * (length // len(food)) + "\0",
                (before + food) * (length // len(before + food)) + "\0",
            ):
                if text not in seen:
                    seen.add(text)
                    yield text

    def _meals(self) -> Iterator[tuple[str, str]]:
        """What must stand before a part without an end, and what that part takes."""
        found = {
            (before, food)
            for before, body in self._endless(self._tree)
            for food in self._food(body)
        }
        # A beginning without any such part is searched for at each letter, too.
        found |= {("", letter) for letter in self._letters}
        yield from sorted(found)

    def _endless(self, tree: Any, before: str = "") -> Iterator[tuple[str, Any]]:
        for code, value in tree:
            if code in _REPEATS and (value[1] is op.MAXREPEAT or value[1] >= _MANY):
                yield before, value[2]
            for inner in _inside(code, value):
                yield from self._endless(inner, before)
            before += self._sample(code, value)

    def _food(self, body: Any) -> Iterator[str]:
        """What a repeated part takes: letters that parts of the pattern tell apart, and a whole."""
        whole = "".join(self._sample(code, value) for code, value in body)
        if whole:
            yield whole
        for letter in self._letters:
            if any(self._takes(code, value, letter) for code, value in _atoms(body)):
                yield letter

    def _telling(self) -> list[str]:
        """One letter of each kind, where a kind is what the same parts of the pattern take."""
        return list({self._kind(letter): letter for letter in reversed(_LETTERS)}.values())

    def _kind(self, letter: str) -> tuple[bool, ...]:
        # The end of a line and the edge of a word are told apart without a part that takes them.
        marks = (letter == "\n", _is_of_a_word(letter))
        return (*marks, *(self._takes(code, value, letter) for code, value in self._atoms))

    def _takes(self, code: Any, value: Any, letter: str) -> bool:
        if code is op.ANY:
            return letter != "\n"
        if code in (op.LITERAL, op.NOT_LITERAL):
            same = chr(value) == letter or (self._folds and chr(value).lower() == letter.lower())
            return same == (code is op.LITERAL)
        return _is_in(value, letter)

    def _sample(self, code: Any, value: Any) -> str:
        """A short text that a part takes."""
        if code is op.LITERAL:
            return chr(value)
        if code in (op.ANY, op.NOT_LITERAL, op.IN):
            takes = (each for each in _LETTERS if self._takes(code, value, each))
            return next(takes, _first_of(value) if code is op.IN else "")
        if code in (op.ASSERT, op.ASSERT_NOT, op.GROUPREF_EXISTS):
            return ""
        inside = _inside(code, value)
        times = value[0] if code in _REPEATS else 1
        return self._all(inside[0]) * times if inside else ""

    def _all(self, tree: Any) -> str:
        return "".join(self._sample(code, value) for code, value in tree)


def _is_of_a_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


_REPEATS: tuple[Any, ...] = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
_CATEGORIES: dict[Any, Callable[[str], bool]] = {
    op.CATEGORY_DIGIT: str.isdigit,
    op.CATEGORY_SPACE: str.isspace,
    op.CATEGORY_WORD: _is_of_a_word,
}
_OPPOSITES: dict[Any, Any] = {
    op.CATEGORY_NOT_DIGIT: op.CATEGORY_DIGIT,
    op.CATEGORY_NOT_SPACE: op.CATEGORY_SPACE,
    op.CATEGORY_NOT_WORD: op.CATEGORY_WORD,
}


def _inside(code: Any, value: Any) -> list[Any]:
    if code in _REPEATS:
        return [value[2]]
    if code is op.BRANCH:
        return list(value[1])
    if code is op.SUBPATTERN:
        return [value[3]]
    if code is op.ATOMIC_GROUP:
        return [value]
    if code in (op.ASSERT, op.ASSERT_NOT):
        return [value[1]]
    return [each for each in value[1:] if each] if code is op.GROUPREF_EXISTS else []


def _atoms(tree: Any) -> Iterator[tuple[Any, Any]]:
    for code, value in tree:
        if code in (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN):
            yield code, value
        for inner in _inside(code, value):
            yield from _atoms(inner)


def _is_in(members: Any, letter: str) -> bool:
    is_negated = members[0][0] is op.NEGATE
    found = any(_is_member(code, value, letter) for code, value in members)
    return found != is_negated


def _is_member(code: Any, value: Any, letter: str) -> bool:
    if code is op.LITERAL:
        return chr(value) == letter
    if code is op.RANGE:
        return value[0] <= ord(letter) <= value[1]
    if code is op.CATEGORY:
        opposite = _OPPOSITES.get(value)
        return not _CATEGORIES[opposite](letter) if opposite else _CATEGORIES[value](letter)
    return False


def _first_of(members: Any) -> str:
    code, value = members[0]
    return chr(value if code is op.LITERAL else value[0]) if code in (op.LITERAL, op.RANGE) else ""
