"""`switchboard completion`: a script that completes verbs and options in a shell."""

from collections.abc import Iterator

from switchboard.cli.options import PROGRAM
from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.table import VERBS, loaded
from switchboard.cli.verbs.parts.names import KINDS, names_of
from switchkit.cli.completion import completion_script
from switchkit.cli.style import Style
from switchkit.cli.usage import SHELLS, Option, Usage, Word

USAGE = Usage(
    verb="completion",
    summary="Print the completion script of a shell.",
    words=(Word(name="SHELL", about="the shell", choices=SHELLS),),
    # For the scripts themselves.
    options=(
        Option(name="names", value="KIND", about="print names instead", choices=KINDS, hidden=True),
    ),
    examples=(
        'eval "$(switchboard completion bash)"',
        "switchboard completion zsh > ~/.zfunc/_switchboard",
        "switchboard completion fish > ~/.config/fish/completions/switchboard.fish",
    ),
)


class CompletionReport(Report, frozen=True, kw_only=True, tag="switchboard.completion/1"):
    """The script."""

    shell: str
    script: str

    def lines(self, style: Style) -> Iterator[str]:
        del style
        yield self.script


class NamesReport(Report, frozen=True, kw_only=True, tag="switchboard.completion-names/1"):
    """The names of one kind, for the script."""

    names: tuple[str, ...]

    def lines(self, style: Style) -> Iterator[str]:
        del style
        yield from self.names


def run(request: CommandRequest) -> Report:
    if kind := request.arguments.one("names"):
        return NamesReport(names=names_of(kind, request))
    shell = request.arguments.word(0)
    usages = [loaded(verb.module).USAGE for verb in VERBS.values()]
    return CompletionReport(shell=shell, script=completion_script(shell, PROGRAM, usages))
