"""The fields that agent files share, whatever their format, checked with their places."""

import re
from collections.abc import Callable, Mapping
from typing import Any, cast

from msgspec.structs import replace

from switchboard.config.documents import Document
from switchboard.config.key_positions import KeyPath
from switchboard.config.problems import Problem, Severity
from switchboard.config.strict import Either, Items, Kind, ProblemReport, Text, Whole
from switchboard.providers.agents.section import ENGINE, ON_CRASH
from switchkit.suggest import did_you_mean

Split = Callable[[str], list[str]]

NAME = Text(empty=False)
_TEXT = Text()
_LIST = Either(first=Text(), other=Items(item=Text()))
OWN: dict[str, Kind] = {
    "engine": ENGINE,
    "on_crash": ON_CRASH,
    "run_minutes": Whole(minimum=1, maximum=10_080),
}


class AgentDocument:
    """A document whose keys are read one by one. What is wrong goes to `problems`."""

    def __init__(self, document: Document, problems: list[Problem]) -> None:
        self.document = document
        self.problems = problems
        self.tree: Mapping[str, Any] = document.tree

    def say(self, at: KeyPath, message: str, hint: str = "", severity: Severity = "error") -> None:
        """A problem at a key. A place in TOML is that of its line, and so a fact."""
        problem = self.document.problem(at, message, hint, severity)
        self.problems.append(replace(problem, near=False))

    def value(self, key: str, kind: Kind) -> Any:
        """A value, or nothing where it is absent or wrong."""
        value = self.tree.get(key)
        # YAML has keys with nothing behind them.
        if value is None:
            return None
        found: list[Problem] = []
        fine = kind.check(value, (key,), ProblemReport(self.document, found))
        self.problems += [replace(problem, near=False) for problem in found]
        return value if fine else None

    def text(self, *keys: str) -> str | None:
        """The first of these keys that is there."""
        for key in keys:
            if self.tree.get(key) is not None:
                return self.value(key, _TEXT)
        return None

    def name(self) -> str | None:
        """The name, without blanks around it."""
        found = self.value("name", NAME)
        return found.strip() if isinstance(found, str) else None

    def words(self, key: str, split: Split) -> tuple[str, ...]:
        """A list, or a string that is split into one."""
        value = self.value(key, _LIST)
        if value is None:
            return ()
        if isinstance(value, str):
            return tuple(split(value))
        return tuple(word.strip() for word in cast("list[str]", value) if word.strip())

    def own(self) -> dict[str, Any]:
        """What Switchboard adds to every format."""
        return {key: value for key, kind in OWN.items() if (value := self.value(key, kind))}

    def place(self) -> dict[str, int]:
        """Where the name stands, or the file begins."""
        spot = self.document.spots.find(("name",))
        return {"line": spot.line, "column": spot.column}

    def unknown(self, known: set[str]) -> None:
        """Warn of keys that no version of the format has."""
        for key in self.tree:
            if key not in known:
                meant = did_you_mean(key, known)
                hint = f"did you mean `{meant}`?" if meant else ""
                self.say((key,), f"unknown key `{key}`", hint, "warning")


def on_blanks(text: str) -> list[str]:
    """Words between commas and blanks. What stands in round brackets stays together."""
    # A bracket that nothing closes means nothing, and its end is not looked for.
    closed = text.rfind(")") + 1
    text = text[:closed] + text[closed:].replace("(", " ")
    return re.findall(r"(?:\([^)]*+(?:\)|\Z)|[^\s,(]++)++", text)


def on_commas(text: str) -> list[str]:
    """Words between commas, with the blanks inside them."""
    return [word for each in text.split(",") if (word := each.strip())]
