"""`switchboard completion`: a script that completes verbs and options in a shell."""

from collections.abc import Iterator

from switchboard.cli.options import GLOBAL_OPTIONS, Option, Usage, Word
from switchboard.cli.report import Report
from switchboard.cli.request import Request
from switchboard.cli.style import Style
from switchboard.cli.table import VERBS, loaded

USAGE = Usage(
    verb="completion",
    summary="Print the completion script of a shell.",
    words=(Word(name="SHELL", about="the shell", choices=("bash", "zsh", "fish")),),
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


def run(request: Request) -> Report:
    shell = request.arguments.word(0)
    write = {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]
    return CompletionReport(shell=shell, script="\n".join(write()))


def _usages() -> Iterator[tuple[str, str, Usage]]:
    for name, verb in VERBS.items():
        yield name, verb.summary, loaded(verb.module).USAGE


def _options(usage: Usage) -> tuple[Option, ...]:
    return (*usage.options, *GLOBAL_OPTIONS)


def _choices(usage: Usage) -> tuple[str, ...]:
    return usage.words[0].choices if usage.words else ()


def _bash() -> Iterator[str]:
    yield "_switchboard() {"
    yield '  local word="${COMP_WORDS[COMP_CWORD]}" verb="" each'
    yield '  for each in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do'
    yield '    case "$each" in -*) ;; *) verb="$each"; break ;; esac'
    yield "  done"
    yield '  local words=""'
    yield '  case "$verb" in'
    yield f'    "") words="{" ".join(VERBS)} --help --version" ;;'
    for name, _, usage in _usages():
        words = [*(option.flag for option in _options(usage)), *_choices(usage)]
        yield f'    {name}) words="{" ".join(words)}" ;;'
    yield "  esac"
    yield '  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")'
    yield "}"
    yield "complete -o default -F _switchboard switchboard"


def _zsh() -> Iterator[str]:
    yield "#compdef switchboard"
    yield "_switchboard() {"
    yield "  local -a verbs"
    yield "  verbs=("
    for name, verb in VERBS.items():
        yield f"    {_quoted(f'{name}:{verb.summary}')}"
    yield "  )"
    yield "  if (( CURRENT == 2 )); then _describe command verbs; return; fi"
    yield '  case "$words[2]" in'
    for name, _, usage in _usages():
        specs = [_zsh_spec(option) for option in _options(usage)]
        if _choices(usage):
            what = usage.words[0].name.lower()
            specs.append(_quoted(f"2:{what}:({' '.join(_choices(usage))})"))
        yield f"    {name}) _arguments {' '.join(specs)} '*:file:_files' ;;"
    yield "  esac"
    yield "}"
    yield 'if [ "$funcstack[1]" = "_switchboard" ]; then _switchboard "$@"'
    yield "else compdef _switchboard switchboard; fi"


def _zsh_spec(option: Option) -> str:
    about = option.about.replace("[", "(").replace("]", ")").replace(":", ",")
    value = f":{option.value}:_files" if option.value else ""
    many = "*" if option.many else ""
    return _quoted(f"{many}{option.flag}[{about}]{value}")


def _fish() -> Iterator[str]:
    yield "complete -c switchboard -f"
    for name, summary, usage in _usages():
        yield (f"complete -c switchboard -n __fish_use_subcommand -a {name} -d {_quoted(summary)}")
        here = f"-n '__fish_seen_subcommand_from {name}'"
        for option in _options(usage):
            value = " -r -F" if option.value else ""
            yield (
                f"complete -c switchboard {here} -l {option.name}{value} -d {_quoted(option.about)}"
            )
        if _choices(usage):
            yield f"complete -c switchboard {here} -a {_quoted(' '.join(_choices(usage)))}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "`") + "'"
