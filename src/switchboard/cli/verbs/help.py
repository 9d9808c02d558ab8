"""`switchboard help [COMMAND]`, and `--help` anywhere."""

from collections.abc import Iterator

from switchboard.cli.options import PROGRAM
from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.table import VERBS, loaded
from switchkit.cli.explain import explanation, overview
from switchkit.cli.style import Style
from switchkit.cli.usage import Usage, UsageError, Word
from switchkit.suggest import did_you_mean

USAGE = Usage(
    verb="help",
    summary="Explain a command.",
    words=(Word(name="COMMAND", about="the command to explain", optional=True),),
)

_ABOUT = "Switchboard puts many MCP servers behind one, as suites that cost few tokens."
_HIDDEN = frozenset({"help", "version"})


class HelpReport(Report, frozen=True, kw_only=True, tag="switchboard.help/1"):
    """The text, line by line. A line that ends in a colon is a heading."""

    text: tuple[str, ...]

    def lines(self, style: Style) -> Iterator[str]:
        for line in self.text:
            yield style.bold(line) if line.endswith(":") and not line.startswith(" ") else line


def run(request: CommandRequest) -> Report:
    name = request.arguments.word(0)
    if not name:
        return HelpReport(text=tuple(overview(PROGRAM, _ABOUT, _groups())))
    verb = VERBS.get(name)
    if verb is None:
        meant = did_you_mean(name, VERBS)
        hint = f"switchboard help {meant}" if meant else "switchboard --help"
        raise UsageError(f"there is no command `{name}`", hint)
    return HelpReport(text=tuple(explanation(PROGRAM, loaded(verb.module).USAGE)))


def _groups() -> dict[str, list[tuple[str, str]]]:
    made: dict[str, list[tuple[str, str]]] = {}
    for name, verb in VERBS.items():
        if name not in _HIDDEN:
            made.setdefault(verb.group, []).append((name, verb.summary))
    return made
