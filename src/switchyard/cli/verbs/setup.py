"""The verbs around a project: init, completion, help, version."""

from switchyard import __version__
from switchyard.cli.arguments import Arguments, usage_fault
from switchyard.cli.report import Report, columns
from switchyard.cli.table import VERBS, options_of
from switchyard.core.fault import CONFLICT, Fault
from switchyard.files import write_text
from switchyard.project.detect import recognised
from switchyard.project.scope import FILE_NAME
from switchyard.suggest import hint


def _init(arguments: Arguments) -> Report:
    folder = arguments.cwd.resolve()
    path = folder / FILE_NAME
    kind, text = recognised(folder)
    data = {"path": str(path), "recognised": kind, "toml": text, "written": False}
    if arguments.has("dry-run"):
        return Report("init", data, [text.rstrip()])
    if path.exists() and not arguments.has("force"):
        raise Fault(
            "config-there", f"{path} is already there", hint="pass --force", exit_code=CONFLICT
        )
    write_text(path, text)
    path.chmod(0o644)
    return Report(
        "init", {**data, "written": True}, [f"wrote {path} ({kind})", "next: switchyard up"]
    )


def _options(verb: str) -> list[str]:
    return [f"--{one.name}" for one in options_of(VERBS[verb]) if not one.hidden]


def _bash() -> str:
    cases = "\n".join(f'    {verb}) words="{" ".join(_options(verb))}" ;;' for verb in VERBS)
    return f"""_switchyard() {{
  local words current="${{COMP_WORDS[COMP_CWORD]}}"
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{" ".join(VERBS)}" -- "$current")); return
  fi
  case "${{COMP_WORDS[1]}}" in
{cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -F _switchyard switchyard sy
"""


def _zsh() -> str:
    verbs = " ".join(f"'{verb}:{one.help}'" for verb, one in VERBS.items())
    cases = "\n".join(f"    {verb}) compadd -- {' '.join(_options(verb))} ;;" for verb in VERBS)
    return f"""#compdef switchyard sy
_switchyard() {{
  local -a verbs; verbs=({verbs})
  if (( CURRENT == 2 )); then _describe 'command' verbs; return; fi
  case "$words[2]" in
{cases}
  esac
}}
compdef _switchyard switchyard sy
"""


def _fish() -> str:
    lines: list[str] = []
    for verb, one in VERBS.items():
        lines.append(f"complete -c switchyard -n __fish_use_subcommand -a {verb} -d '{one.help}'")
        lines += [
            f"complete -c switchyard -n '__fish_seen_subcommand_from {verb}' -l {option[2:]}"
            for option in _options(verb)
        ]
    return "\n".join(lines) + "\ncomplete -c sy -w switchyard\n"


def _completion(arguments: Arguments) -> Report:
    shells = {"bash": _bash, "zsh": _zsh, "fish": _fish}
    shell = arguments.words[0] if arguments.words else ""
    if shell not in shells:
        raise usage_fault(f"`{shell}` is no known shell; {hint(shell, shells)}", "completion")
    text = shells[shell]()
    return Report("completion", {"shell": shell, "script": text}, text.rstrip().split("\n"))


def _help(arguments: Arguments) -> Report:
    name = arguments.words[0] if arguments.words else ""
    if name in VERBS:
        verb = VERBS[name]
        rows = [
            (
                f"  {f'-{one.short}, ' if one.short else '    '}--{one.name} {one.value}".rstrip(),
                one.help,
            )
            for one in options_of(verb)
            if not one.hidden
        ]
        lines = [f"switchyard {name} {verb.usage}".rstrip(), "", verb.help, "", *columns(rows)]
        return Report("help", {"verb": name, "lines": lines}, lines)
    rows = [(f"  {verb}", one.help) for verb, one in VERBS.items()]
    lines = [
        "switchyard COMMAND: every branch of a project, running side by side",
        "",
        *columns(rows),
        "",
        "all commands take --json; `switchyard COMMAND --help` shows more",
    ]
    return Report("help", {"verbs": list(VERBS)}, lines)


def run(arguments: Arguments) -> Report:
    """Set a project up, or explain."""
    if arguments.verb == "version":
        return Report("version", {"version": __version__}, [f"switchyard {__version__}"])
    verbs = {"init": _init, "completion": _completion, "help": _help}
    return verbs[arguments.verb](arguments)
