"""Scripts that complete verbs and options in a shell."""

from collections.abc import Iterator, Sequence

from switchkit.cli.usage import Option, Program, Usage, Word


def completion_script(
    shell: str, program: Program, usages: Sequence[Usage], aliases: Sequence[str] = ()
) -> str:
    """The script of one of the shells, for a program and other names of it."""
    write = {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]
    return "\n".join(write(program, usages, aliases))


def _options(program: Program, usage: Usage) -> list[Option]:
    return [option for option in (*usage.options, *program.options) if not option.hidden]


def _summary(usage: Usage) -> str:
    return usage.summary.rstrip(".")


def _choices(usage: Usage) -> tuple[str, ...]:
    return usage.words[0].choices if usage.words else ()


def _named(usage: Usage) -> Iterator[tuple[int, Word]]:
    """The words that name something, each with its place behind the verb."""
    return ((place, word) for place, word in enumerate(usage.words) if word.is_name)


def _asking(shell: str, verb: str) -> str:
    """What prints the names that a verb takes, one a line; a shell may expand what it prints."""
    return f"completion {shell} --names {verb} 2>/dev/null"


def _bash(program: Program, usages: Sequence[Usage], aliases: Sequence[str]) -> Iterator[str]:
    name = program.name
    yield f"_{name}() {{"
    yield '  local word="${COMP_WORDS[COMP_CWORD]}" verb="" each place=-1'
    yield '  for each in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do'
    yield '    case "$each" in -*) ;; *) verb="${verb:-$each}"; place=$((place + 1)) ;; esac'
    yield "  done"
    yield '  local words=""'
    yield '  case "$verb" in'
    yield f'    "") words="{" ".join(usage.verb for usage in usages)} --help --version" ;;'
    for usage in usages:
        words = [option.flag for option in _options(program, usage)]
        yield f'    {usage.verb}) words="{" ".join(words)}" ;;'
    yield "  esac"
    yield '  case "$verb $place" in'
    for usage in usages:
        if choices := _choices(usage):
            yield f'    "{usage.verb} 0") words="$words {" ".join(choices)}" ;;'
        for place, word in _named(usage):
            at = f'"{usage.verb} "*' if word.many else f'"{usage.verb} {place}"'
            yield f'    {at}) words="$words $("$1" {_asking("bash", usage.verb)})" ;;'
    yield "  esac"
    yield '  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")'
    yield "}"
    yield f"complete -o default -F _{name} {' '.join((name, *aliases))}"


def _zsh(program: Program, usages: Sequence[Usage], aliases: Sequence[str]) -> Iterator[str]:
    name = program.name
    names = " ".join((name, *aliases))
    yield f"#compdef {names}"
    yield f"_{name}_names() {{"
    yield "  local -a found"
    yield f'  found=(${{(f)"$($words[1] {_asking("zsh", "$1")})"}})'
    yield "  compadd -a found"
    yield "}"
    yield f"_{name}() {{"
    yield "  local -a verbs"
    yield "  verbs=("
    for usage in usages:
        yield f"    {_quoted(f'{usage.verb}:{_summary(usage)}')}"
    yield "  )"
    yield "  if (( CURRENT == 2 )); then _describe command verbs; return; fi"
    yield '  case "$words[2]" in'
    for usage in usages:
        specs = [_zsh_spec(option) for option in _options(program, usage)]
        if _choices(usage):
            what = usage.words[0].name.lower()
            specs.append(_quoted(f"2:{what}:({' '.join(_choices(usage))})"))
        for place, word in _named(usage):
            at = "*" if word.many else place + 2
            specs.append(_quoted(f"{at}:{word.name.lower()}:{{_{name}_names {usage.verb}}}"))
        if not any(word.many for _, word in _named(usage)):
            specs.append("'*:file:_files'")
        yield f"    {usage.verb}) _arguments {' '.join(specs)} ;;"
    yield "  esac"
    yield "}"
    yield f'if [ "$funcstack[1]" = "_{name}" ]; then _{name} "$@"'
    yield f"else compdef _{name} {names}; fi"


def _zsh_spec(option: Option) -> str:
    about = option.about.replace("[", "(").replace("]", ")").replace(":", ",")
    value = f":{option.value}:_files" if option.value else ""
    many = "*" if option.many else ""
    return _quoted(f"{many}{option.flag}[{about}]{value}")


def _fish(program: Program, usages: Sequence[Usage], aliases: Sequence[str]) -> Iterator[str]:
    complete = f"complete -c {program.name}"
    yield f"{complete} -f"
    for usage in usages:
        summary = _quoted(_summary(usage))
        yield f"{complete} -n __fish_use_subcommand -a {usage.verb} -d {summary}"
        here = f"-n '__fish_seen_subcommand_from {usage.verb}'"
        for option in _options(program, usage):
            value = " -r -F" if option.value else ""
            yield f"{complete} {here} -l {option.name}{value} -d {_quoted(option.about)}"
        if _choices(usage):
            yield f"{complete} {here} -a {_quoted(' '.join(_choices(usage)))}"
        if any(_named(usage)):
            asked = _quoted(f"({program.name} {_asking('fish', usage.verb)})")
            yield f"{complete} {here} -a {asked}"
    for alias in aliases:
        yield f"complete -c {alias} -w {program.name}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "`") + "'"
