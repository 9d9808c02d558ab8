"""A strict view of one TOML table: every key is asked for by type, or it is a problem."""

from typing import Any, NamedTuple, cast

from switchkit.suggest import suggestion
from switchyard.core.quantities import seconds, size_bytes


def words_of(line: str) -> list[str]:
    """A line split as a shell splits it. Without quotes `shlex` is not needed.

    Raises `ValueError` when a quote is not closed.
    """
    if line.isascii() and line.isprintable() and not set(line) & set("\\\"'"):
        return line.split()
    from shlex import split  # noqa: PLC0415

    return split(line)


class ConfigProblem(NamedTuple):
    """One mistake in the file: where it is and what to do about it."""

    line: int
    key: str
    message: str


class ProblemList:
    """Collects every problem of one file, so that all are told at once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.problems: list[ConfigProblem] = []

    def add(self, path: tuple[str, ...], message: str) -> None:
        """Note a mistake at this key."""
        # Most files have no mistakes, so no positions are needed.
        from switchkit.toml.positions import by_place, nearest, statements  # noqa: PLC0415

        found = nearest(by_place(statements(self._text)), path)
        self.problems.append(ConfigProblem(found.first if found else 1, ".".join(path), message))


class TableReader:
    """One table being read. `done` reports the keys that nobody asked for."""

    def __init__(self, values: Any, path: tuple[str, ...], report: ProblemList) -> None:
        self.path = path
        self.report = report
        self._asked: set[str] = set()
        if not isinstance(values, dict):
            report.add(path, f"`{'.'.join(path)}` must be a table")
            values = {}
        self._values = cast("dict[str, Any]", values)

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def problem(self, key: str, message: str) -> None:
        """Note a mistake at a key of this table."""
        self.report.add((*self.path, key) if key else self.path, message)

    def names(self) -> list[str]:
        """The keys that are there, in the order of the file."""
        return list(self._values)

    def value(self, key: str) -> Any:
        """The raw value; the caller checks it."""
        self._asked.add(key)
        return self._values.get(key)

    def table(self, key: str) -> "TableReader":
        """A table below this one; empty when absent."""
        self._asked.add(key)
        return TableReader(self._values.get(key, {}), (*self.path, key), self.report)

    def tables(self) -> list[tuple[str, "TableReader"]]:
        """Every value as a table, for tables of named entries."""
        return [(key, self.table(key)) for key in self._values]

    def text(self, key: str, default: str = "") -> str:
        """A string."""
        value = self.value(key)
        if value is None:
            return default
        if not isinstance(value, str):
            self.problem(key, f"`{key}` must be a string")
            return default
        return value

    def maybe_text(self, key: str) -> str | None:
        """A string, or nothing when absent."""
        return self.text(key) if key in self._values else self._absent(key)

    def _absent(self, key: str) -> None:
        self._asked.add(key)

    def choice(self, key: str, known: tuple[str, ...], default: str) -> str:
        """One of a few words."""
        value = self.text(key, default)
        if value not in known:
            self.problem(key, f"`{value}` is not a valid `{key}`; {suggestion(value, known)}")
            return default
        return value

    def number(self, key: str, default: int, low: int, high: int) -> int:
        """A whole number within bounds."""
        value = self.value(key)
        if value is None:
            return default
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            self.problem(key, f"`{key}` must be a whole number from {low} to {high}")
            return default
        return value

    def flag(self, key: str, *, default: bool) -> bool:
        """True or false."""
        value = self.value(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.problem(key, f"`{key}` must be true or false")
            return default
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings."""
        value = self.value(key)
        if value is None:
            return ()
        if not isinstance(value, list) or any(
            not isinstance(one, str) for one in cast("list[Any]", value)
        ):
            self.problem(key, f"`{key}` must be a list of strings")
            return ()
        return tuple(cast("list[str]", value))

    def strings(self, key: str) -> dict[str, str]:
        """A table of strings; numbers and booleans are written as TOML writes them."""
        below = self.table(key)
        made: dict[str, str] = {}
        for name in below.names():
            value = below.value(name)
            if isinstance(value, bool):
                made[name] = "true" if value else "false"
            elif isinstance(value, str | int | float):
                made[name] = str(value)
            else:
                below.problem(name, f"`{name}` must be a string, a number or a boolean")
            if "=" in name or "\0" in made.get(name, ""):
                below.problem(name, f"`{name}` is not a valid name for an environment variable")
        return made

    def duration(self, key: str, default: float) -> float:
        """A duration such as `500ms`, `30s` or `10m`."""
        if key not in self._values:
            self._absent(key)
            return default
        made = seconds(self.text(key))
        if made is None:
            self.problem(key, f"`{key}` must be a duration such as `500ms`, `30s` or `10m`")
            return default
        return made

    def size(self, key: str, default: int) -> int:
        """A size such as `10MB`."""
        if key not in self._values:
            self._absent(key)
            return default
        made = size_bytes(self.text(key))
        if made is None:
            self.problem(key, f"`{key}` must be a size such as `10MB`")
            return default
        return made

    def command(self, key: str, value: Any = None) -> tuple[str, ...]:
        """An argument list, or a string split like a shell line and never run through one."""
        given: Any = self.value(key) if value is None else value
        if isinstance(given, str):
            try:
                given = words_of(given)
            except ValueError as wrong:
                self.problem(key, f"`{key}` cannot be split: {wrong}")
                return ()
        if (
            not isinstance(given, list)
            or not given
            or any(not isinstance(one, str) or "\0" in one for one in cast("list[Any]", given))
        ):
            self.problem(key, f"`{key}` must be a non-empty list of strings, or a string")
            return ()
        return tuple(cast("list[str]", given))

    def commands(self, key: str) -> tuple[tuple[str, ...], ...]:
        """A list of commands."""
        value = self.value(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            self.problem(key, f"`{key}` must be a list of commands")
            return ()
        return tuple(self.command(key, one) for one in cast("list[Any]", value))

    def done(self, known: tuple[str, ...] = ()) -> None:
        """Report every key that nobody asked for."""
        for key in self._values:
            if key not in self._asked:
                self.problem(key, f"unknown key `{key}`; {suggestion(key, {*self._asked, *known})}")
