"""`switchboard help [COMMAND]`, and `--help` anywhere."""

from collections.abc import Iterator

from switchboard.cli.options import GLOBAL_OPTIONS, Option, Usage, UsageError, Word
from switchboard.cli.report import Report
from switchboard.cli.request import Request
from switchboard.cli.style import Style
from switchboard.cli.table import VERBS, loaded
from switchboard.config.problems import did_you_mean

USAGE = Usage(
    verb="help",
    summary="Explain a command.",
    words=(Word(name="COMMAND", about="the command to explain", optional=True),),
)

_INDENT = "  "
_HIDDEN = frozenset({"help", "version"})


class HelpReport(Report, frozen=True, kw_only=True, tag="switchboard.help/1"):
    """The text, line by line. A line that ends in a colon is a heading."""

    text: tuple[str, ...]

    def lines(self, style: Style) -> Iterator[str]:
        for line in self.text:
            yield style.bold(line) if line.endswith(":") and not line.startswith(" ") else line


def run(request: Request) -> Report:
    name = request.arguments.word(0)
    if not name:
        return HelpReport(text=tuple(_overview()))
    verb = VERBS.get(name)
    if verb is None:
        meant = did_you_mean(name, VERBS)
        hint = f"switchboard help {meant}" if meant else "switchboard --help"
        raise UsageError(f"there is no command `{name}`", hint)
    return HelpReport(text=tuple(_explanation(loaded(verb.module).USAGE)))


def _overview() -> Iterator[str]:
    yield "Switchboard puts many MCP servers behind one, as suites that cost few tokens."
    yield ""
    yield "usage: switchboard COMMAND [OPTIONS]"
    group = ""
    width = max(map(len, VERBS))
    for name, verb in VERBS.items():
        if name in _HIDDEN:
            continue
        if verb.group != group:
            group = verb.group
            yield ""
            yield f"{group}:"
        yield f"{_INDENT}{name:{width}}  {verb.summary}"
    yield ""
    yield "Options of every command:"
    yield from _options((*GLOBAL_OPTIONS, _VERSION))
    yield ""
    yield "Explain one command: switchboard COMMAND --help"


_VERSION = Option(name="version", short="-V", about="print the version")


def _explanation(usage: Usage) -> Iterator[str]:
    yield usage.summary
    yield ""
    words = [_placeholder(word) for word in usage.words]
    rest = [f"-- {usage.rest}"] if usage.rest else []
    yield " ".join(["usage: switchboard", usage.verb, *words, "[OPTIONS]", *rest])
    if usage.words:
        yield ""
        width = max(len(word.name) for word in usage.words)
        for word in usage.words:
            yield f"{_INDENT}{word.name:{width}}  {word.about}"
    if usage.details:
        yield ""
        yield from usage.details.splitlines()
    if usage.options:
        yield ""
        yield "Options:"
        yield from _options(usage.options)
    yield ""
    yield "Options of every command:"
    yield from _options(GLOBAL_OPTIONS)
    if usage.examples:
        yield ""
        yield "Examples:"
        for example in usage.examples:
            yield _INDENT + example


def _placeholder(word: Word) -> str:
    name = "|".join(word.choices) if word.choices else word.name
    name += "…" if word.many else ""
    return f"[{name}]" if word.optional else name


def _options(options: tuple[Option, ...]) -> Iterator[str]:
    names = [
        ", ".join(filter(None, (option.short, option.flag)))
        + (f" {option.value}" if option.value else "")
        for option in options
    ]
    width = max(map(len, names))
    for name, option in zip(names, options, strict=True):
        yield f"{_INDENT}{name:{width}}  {option.about}"
