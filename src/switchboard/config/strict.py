"""A small checker: says what a tree may hold, and reports everything that it may not.

A shape is data. The same tables make the JSON Schemas in `schemas/`, so what an editor underlines
and what `config check` refuses cannot drift apart.
"""

import re
from typing import Any, Literal, Protocol, cast

from msgspec import Struct

from switchboard.config.documents import Document
from switchboard.config.key_positions import KeyPath
from switchboard.config.problems import MOST_PROBLEMS, Problem, Severity, quoted
from switchkit.suggest import did_you_mean

Unknown = Literal["error", "warning", "ignore"]


class ProblemReport:
    """Where a check says what it found."""

    def __init__(self, document: Document, problems: list[Problem]) -> None:
        self.document = document
        self.problems = problems

    def is_full(self, severity: Severity = "error") -> bool:
        """Whether enough was said. Warnings never take the place of what refuses a file."""
        return len(self.problems) >= (MOST_PROBLEMS if severity == "warning" else 2 * MOST_PROBLEMS)

    def say(self, at: KeyPath, message: str, hint: str = "", severity: Severity = "error") -> None:
        if not self.is_full(severity):
            self.problems.append(self.document.problem(at, message, hint, severity))


class Kind(Protocol):
    """What one value may be."""

    def check(self, value: Any, at: KeyPath, report: ProblemReport) -> bool:
        """Report what is wrong with the value; whether nothing was."""
        ...

    def wanted(self) -> str:
        """The kind in words: `a string`."""
        ...


class Text(Struct, frozen=True, kw_only=True):
    """A string."""

    choices: tuple[str, ...] = ()
    pattern: str = ""
    # What the pattern asks for, in words.
    says: str = ""
    # What people write around such a text, which is its first group.
    around: str = ""
    empty: bool = True
    # An empty string, or one with `${`, is judged later: when layers are merged and expanded.
    later: bool = False
    # What stands here by mistake may be a secret, so no message repeats it.
    private: bool = False
    # What to say beside the choices to somebody who wrote none that is near.
    hint: str = ""
    about: str = ""

    def check(self, value: Any, at: KeyPath, report: ProblemReport) -> bool:
        if not isinstance(value, str):
            return _wrong(self, value, at, report)
        if self.later and (not value.strip() or "${" in value):
            return True
        if "\x00" in value:
            report.say(at, f"{_name(at)} holds a NUL character")
            return False
        if not self.empty and not value.strip():
            report.say(at, f"{_name(at)} must not be empty")
            return False
        return self._fits(value, at, report)

    def wanted(self) -> str:
        return "a string"

    def _fits(self, value: str, at: KeyPath, report: ProblemReport) -> bool:
        if self.choices and value not in self.choices:
            meant = did_you_mean(value, self.choices)
            hint = f"did you mean `{meant}`?" if meant else self.hint
            report.say(
                at, f"{_name(at)} must be {_any_of(self.choices)}, not {quoted(value)}", hint
            )
            return False
        if self.pattern and re.fullmatch(self.pattern, value) is None:
            found = "" if self.private else f", not {quoted(value)}"
            near = re.fullmatch(self.around, value) if self.around else None
            hint = f"write `{near[1]}`" if near and re.fullmatch(self.pattern, near[1]) else ""
            report.say(at, f"{_name(at)} must be {self.says}{found}", hint)
            return False
        return True


class Whole(Struct, frozen=True, kw_only=True):
    """A whole number."""

    minimum: int = 0
    maximum: int = 2_147_483_647
    about: str = ""

    def check(self, value: Any, at: KeyPath, report: ProblemReport) -> bool:
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
            return _wrong(self, value, at, report)
        if not self.minimum <= value <= self.maximum:
            report.say(
                at, f"{_name(at)} must be from {self.minimum} to {self.maximum}, not {value}"
            )
            return False
        return True

    def wanted(self) -> str:
        return "a whole number"


class Truth(Struct, frozen=True, kw_only=True):
    """True or false."""

    about: str = ""

    def check(self, value: Any, at: KeyPath, report: ProblemReport) -> bool:
        return isinstance(value, bool) or _wrong(self, value, at, report)

    def wanted(self) -> str:
        return "true or false"


class Anything(Struct, frozen=True, kw_only=True):
    """Whatever it is, somebody else judges it."""

    about: str = ""

    def check(self, value: Any, at: KeyPath, report: ProblemReport) -> bool:  # noqa: ARG002 - a port
        return True

    def wanted(self) -> str:
        return "anything"


class Items(Struct, frozen=True, kw_only=True):
    """A list of one kind."""

    item: Any
    about: str = ""

    def check(self, value: Any, at: KeyPath, report: ProblemReport) -> bool:
        if not isinstance(value, list):
            return _wrong(self, value, at, report)
        item = cast("Kind", self.item)
        fine = True
        for index, each in enumerate(cast("list[Any]", value)):
            fine = item.check(each, (*at, index), report) and fine
        return fine

    def wanted(self) -> str:
        return f"a list of {_plural(cast('Kind', self.item).wanted())}"


class Members(Struct, frozen=True, kw_only=True):
    """An object whose keys are names that the user chooses."""

    value: Any
    key: Text = Text()
    about: str = ""

    def check(self, value: Any, at: KeyPath, report: ProblemReport) -> bool:
        if not isinstance(value, dict):
            return _wrong(self, value, at, report)
        kind = cast("Kind", self.value)
        fine = True
        for name, each in cast("dict[str, Any]", value).items():
            fine = self.key.check(name, (*at, name), report) and fine
            fine = kind.check(each, (*at, name), report) and fine
        return fine

    def wanted(self) -> str:
        return f"an object of {_plural(cast('Kind', self.value).wanted())}"


class Either(Struct, frozen=True, kw_only=True):
    """One of two kinds, told apart by whether the value is a list, or a string."""

    first: Items | Text
    other: Any
    about: str = ""

    def check(self, value: Any, at: KeyPath, report: ProblemReport) -> bool:
        is_first = isinstance(value, list if isinstance(self.first, Items) else str)
        if isinstance(value, str) and not is_first:
            # Neither of both, and most likely the one item of a list.
            message = f"{_name(at)} must be {self.wanted()}, not a string"
            report.say(at, message, "put it in square brackets")
            return False
        kind = self.first if is_first else cast("Kind", self.other)
        return kind.check(value, at, report)

    def wanted(self) -> str:
        return f"{self.first.wanted()} or {cast('Kind', self.other).wanted()}"


class Table(Struct, frozen=True, kw_only=True):
    """An object with known fields."""

    noun: str
    fields: dict[str, Any]
    required: tuple[str, ...] = ()
    # What must hold between the fields, for the schema; the checker's side needs merged layers.
    conditions: dict[str, Any] = {}
    unknown: Unknown = "error"
    # Foreign spellings, and what to write instead.
    notes: dict[str, str] = {}
    about: str = ""

    def check(self, value: Any, at: KeyPath, report: ProblemReport) -> bool:
        if not isinstance(value, dict):
            return _wrong(self, value, at, report)
        members = cast("dict[str, Any]", value)
        fine = True
        for name, each in members.items():
            kind = self.fields.get(name)
            if kind is not None:
                fine = cast("Kind", kind).check(each, (*at, name), report) and fine
            elif self.unknown != "ignore":
                # To find out what was meant takes longer than anything else here.
                meant = "" if report.is_full(self.unknown) else self._hint(name)
                report.say((*at, name), f"unknown field {quoted(name)}", meant, self.unknown)
                fine = fine and self.unknown != "error"
        for name in self.required:
            if name not in members:
                report.say(at, f"`{name}` is required", f"add `{name}` to {self.noun}")
                fine = False
        return fine

    def wanted(self) -> str:
        return "an object"

    def _hint(self, name: str) -> str:
        takes = f"{self.noun[:1].upper()}{self.noun[1:]} takes: {', '.join(sorted(self.fields))}"
        if name in self.notes:
            return self.notes[name]
        meant = did_you_mean(name, self.fields)
        return f"did you mean `{meant}`? {takes}" if meant else takes


_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "true or false"),
    (str, "a string"),
    (int, "a number"),
    (float, "a number"),
    (list, "a list"),
    (dict, "an object"),
    (type(None), "null"),
)


def kind_of(value: Any) -> str:
    """The kind of a value in words."""
    for kind, words in _KINDS:
        if isinstance(value, kind):
            return words
    return f"a {type(value).__name__}"


def _wrong(kind: Kind, value: Any, at: KeyPath, report: ProblemReport) -> bool:
    # What is one line can be text; the value itself is not repeated, it may be a secret.
    is_plain = (
        isinstance(kind, Text)
        and not (kind.choices or kind.pattern)
        and isinstance(value, bool | int | float)
    )
    hint = "put it in quotation marks" if is_plain else ""
    report.say(at, f"{_name(at)} must be {kind.wanted()}, not {kind_of(value)}", hint)
    return False


def _name(at: KeyPath) -> str:
    if not at:
        return "the file"
    *around, last = at
    if isinstance(last, int):
        return f"item {last + 1} of `{around[-1]}`" if around else f"item {last + 1}"
    return f"`{last}`"


def _any_of(choices: tuple[str, ...]) -> str:
    quoted = [f"`{choice}`" for choice in choices]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"


def _plural(words: str) -> str:
    return {"a string": "strings", "an object": "objects", "a whole number": "whole numbers"}.get(
        words, words
    )
