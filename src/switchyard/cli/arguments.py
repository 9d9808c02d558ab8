"""Reads the words of a command line by the table."""

from pathlib import Path

from switchkit.cli import usage
from switchkit.suggest import suggestion
from switchyard.cli.table import PROGRAM, VERBS
from switchyard.core.fault import USAGE, YardFault


class YardArguments(usage.Value):
    """One command line, read."""

    verb: str
    given: usage.Arguments

    @property
    def words(self) -> tuple[str, ...]:
        """The positional arguments."""
        return self.given.words

    @property
    def command(self) -> tuple[str, ...]:
        """What follows `--`."""
        return self.given.rest

    def has(self, name: str) -> bool:
        """Whether the switch was given."""
        return self.given.has(name)

    def value(self, name: str) -> str | None:
        """The value of an option."""
        return self.given.one(name)

    @property
    def branch(self) -> str | None:
        """The branch: the word after that of a service, or the option."""
        return self.words[1] if len(self.words) > 1 else self.value("branch")

    @property
    def cwd(self) -> Path:
        """The folder that the command acts from. Raises `YardFault` when there is none."""
        folder = Path(self.value("cwd") or ".").absolute()
        if self.has("cwd") and not folder.is_dir():
            raise usage_fault(f"there is no folder {folder}", self.verb)
        return folder


def usage_fault(message: str, verb: str = "", hint: str = "") -> YardFault:
    """A command line that makes no sense."""
    hint = hint or " ".join(filter(None, (PROGRAM.name, verb, "--help")))
    return YardFault("usage", message, hint=hint, exit_code=USAGE)


def read_arguments(argv: list[str]) -> YardArguments:
    """The command line by the table.

    Raises `YardFault` when it does not fit.
    """
    if not argv or argv[0] in ("-h", "--help", "help"):
        return YardArguments("help", usage.Arguments(words=tuple(argv[1:])))
    if argv[0] in ("-V", "--version"):
        return YardArguments("version", usage.Arguments())
    verb = argv[0]
    if verb not in VERBS:
        raise usage_fault(f"unknown command `{verb}`; {suggestion(verb, VERBS)}")
    try:
        given = usage.read_arguments(PROGRAM, VERBS[verb].usage, argv[1:])
    except usage.UsageError as wrong:
        raise usage_fault(wrong.message, verb, wrong.hint) from None
    if given.has("help"):
        return YardArguments("help", usage.Arguments(words=(verb,)))
    return YardArguments(verb, given)
