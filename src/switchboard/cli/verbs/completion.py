"""`switchboard completion`: a script that completes verbs and options in a shell."""

import re
from collections.abc import Callable, Iterable, Iterator

from switchboard.cli.options import PROGRAM
from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.table import VERBS, loaded
from switchkit.cli.completion import completion_script
from switchkit.cli.style import Style
from switchkit.cli.usage import SHELLS, Option, Usage, UsageError, Word

# A shell expands what it completes, and a name may be a stranger's.
_HARMLESS = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./-]*")

USAGE = Usage(
    verb="completion",
    summary="Print the completion script of a shell.",
    words=(Word(name="SHELL", about="the shell", choices=SHELLS),),
    # For the scripts themselves.
    options=(
        Option(name="names", value="VERB", about="print the names that it takes", hidden=True),
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
    """The names that one verb takes, for the script."""

    names: tuple[str, ...]

    def lines(self, style: Style) -> Iterator[str]:
        del style
        yield from self.names


def run(request: CommandRequest) -> Report:
    if verb := request.arguments.one("names"):
        return NamesReport(names=tuple(_names(verb, request)))
    shell = request.arguments.word(0)
    usages = [loaded(verb.module).USAGE for verb in VERBS.values()]
    return CompletionReport(shell=shell, script=completion_script(shell, PROGRAM, usages))


def _names(verb: str, request: CommandRequest) -> Iterator[str]:
    """Those names that a shell cannot take for something else."""
    if verb not in VERBS:
        raise UsageError(f"there is no command `{verb}`")
    names: Callable[[CommandRequest], Iterable[str]] | None
    names = getattr(loaded(VERBS[verb].module), "names", None)
    return (name for name in names(request) if _HARMLESS.fullmatch(name)) if names else iter(())
