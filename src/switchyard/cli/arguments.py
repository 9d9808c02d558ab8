"""Reads the words of a command line by the table."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from switchyard.cli.table import VERBS, Option, options_of
from switchyard.core.fault import USAGE, Fault
from switchyard.suggest import hint


class Arguments(NamedTuple):
    """One command line, read."""

    verb: str
    words: tuple[str, ...] = ()
    values: dict[str, str] = {}  # noqa: RUF012 - never changed after reading
    switches: frozenset[str] = frozenset()
    command: tuple[str, ...] = ()

    def has(self, name: str) -> bool:
        """Whether the switch was given."""
        return name in self.switches

    def value(self, name: str) -> str | None:
        """The value of an option."""
        return self.values.get(name)

    @property
    def cwd(self) -> Path:
        """Where the command stands."""
        return Path(self.values.get("cwd", ".")).absolute()


def usage_fault(message: str, verb: str = "") -> Fault:
    """A command line that cannot be meant."""
    return Fault(
        "usage", message, hint=f"switchyard {verb} --help".replace("  ", " "), exit_code=USAGE
    )


def _option(word: str, verb: str) -> Option:
    known = options_of(VERBS[verb])
    name = word.lstrip("-")
    for one in known:
        if (word.startswith("--") and one.name == name) or (
            not word.startswith("--") and one.short == name
        ):
            return one
    names = [f"--{one.name}" for one in known if not one.hidden]
    raise usage_fault(f"unknown option `{word}`; {hint(word, names)}", verb)


def _take(
    word: str, rest: Iterator[str], verb: str, values: dict[str, str], switches: set[str]
) -> None:
    name, equals, given = word.partition("=")
    option = _option(name, verb)
    if not option.value:
        if equals:
            raise usage_fault(f"`{name}` takes no value", verb)
        switches.add(option.name)
        return
    taken = given if equals else next(rest, None)
    if taken is None:
        raise usage_fault(f"`{name}` needs a {option.value}", verb)
    values[option.name] = taken


def read_arguments(argv: list[str]) -> Arguments:
    """The command line by the table.

    Raises `Fault` when it does not fit.
    """
    if not argv or argv[0] in ("-h", "--help", "help"):
        return Arguments("help", tuple(argv[1:]))
    if argv[0] in ("-V", "--version"):
        return Arguments("version")
    verb = argv[0]
    if verb not in VERBS:
        raise usage_fault(f"unknown command `{verb}`; {hint(verb, VERBS)}")
    words: list[str] = []
    values: dict[str, str] = {}
    switches: set[str] = set()
    rest = iter(argv[1:])
    command: tuple[str, ...] = ()
    for word in rest:
        if word == "--":
            command = tuple(rest)
        elif word.startswith("-") and len(word) > 1:
            _take(word, rest, verb, values, switches)
        else:
            words.append(word)
    if "help" in switches:
        return Arguments("help", (verb,))
    known = VERBS[verb]
    if len(words) > known.most or (command and not known.takes_command):
        raise usage_fault(f"`{verb}` takes {known.usage or 'no words'}", verb)
    return Arguments(verb, tuple(words), values, frozenset(switches), command)
