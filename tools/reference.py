"""Write the reference that is made from the code: commands, faults, events, the manual page.

Run with `--check` it writes nothing, and fails where a page is not what the code says.
"""

import ast
import sys
import tomllib
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path

from fault_sites import SOMETHING, FaultSites, Raised

from switchboard.cli.options import PROGRAM
from switchboard.cli.table import VERBS
from switchkit.cli.explain import explanation
from switchkit.cli.usage import Program, Usage
from switchyard.cli import table as yard_cli

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "switchboard"
FAULTS = Path("docs/reference/faults")
YARD_FAULTS = Path("docs/reference/switchyard-faults.md")
EVENTS = Path("docs/reference/events.md")
COMMANDS = Path("docs/reference/commands.md")
MAN = Path("man")
REMEDIES = Path(__file__).parent / "fault_remedies.toml"
_MEANINGS = {
    "INVALID_ARGUMENT": "what was asked for cannot be right; ask for something else",
    "NOT_FOUND": "there is no such thing",
    "ALREADY_EXISTS": "it is there already",
    "FAILED_PRECONDITION": "something has to be done first",
    "PERMISSION_DENIED": "it is not allowed, or nobody has agreed to it",
    "UNAUTHENTICATED": "a secret or a login is missing or wrong",
    "RESOURCE_EXHAUSTED": "it is too much, or too large",
    "DEADLINE_EXCEEDED": "it took too long",
    "CANCELLED": "somebody has ended it",
    "UNAVAILABLE": "it does not work now, and may work later",
    "UNIMPLEMENTED": "somebody on the way cannot do it",
    "INTERNAL": "something has failed that should not",
}


def faults() -> dict[str, list[Raised]]:
    """Every fault by its reason."""
    return FaultSites(SOURCES, "switchboard").found()


def remedies() -> dict[str, str]:
    """What to do about those that have no hint in the code."""
    return tomllib.loads(REMEDIES.read_text("utf-8"))


def fault_pages() -> Iterator[tuple[Path, str]]:
    """A page for each, and one with all of them."""
    every, known = faults(), remedies()
    rows = [f"| [{reason}]({reason}.md) | {_first(raised)} |" for reason, raised in every.items()]
    yield (
        FAULTS / "README.md",
        "\n".join(
            (
                "# Faults",
                "",
                "Whatever fails, fails with a code, a reason of this list, a message and, where",
                "there is one, a hint. `--json` has all four; clients get them with the result.",
                "Those of the local runtime are [a list of their own](../switchyard-faults.md).",
                "",
                "| reason | says |",
                "|---|---|",
                *rows,
                "",
            )
        ),
    )
    for reason, raised in every.items():
        yield FAULTS / f"{reason}.md", _page(reason, raised, known.get(reason, ""))


def yard_faults_page() -> str:
    """The faults of the local runtime."""
    every = FaultSites(ROOT / "src" / "switchyard", "switchyard").found()
    lines = [
        "# Faults of Switchyard",
        "",
        "What `sy` fails with. `--json` has the reason as `code`; tools of the yard as `reason`.",
        "",
        "| reason | says | what to do |",
        "|---|---|---|",
    ]
    for reason, raised in every.items():
        to_do = "; ".join(each.replace("|", "\\|") for each in hints(raised))
        lines.append(f"| `{reason}` | {_first(raised)} | {to_do} |")
    return "\n".join(lines) + "\n"


def _first(raised: list[Raised]) -> str:
    meant = _MEANINGS.get(raised[0].code, SOMETHING)
    told = next((each.message for each in raised if each.message.strip(SOMETHING)), meant)
    return told.replace("|", "\\|").replace("\n", " ")


def _page(reason: str, raised: list[Raised], remedy: str) -> str:
    codes = list(dict.fromkeys(each.code for each in raised if each.code))
    lines = [f"# {reason}"]
    lines += [f"\nCode `{code.lower()}`: {_MEANINGS[code]}." for code in codes]
    messages = list(dict.fromkeys(each.message for each in raised if each.message != SOMETHING))
    if messages:
        lines += ["", "It says:", "", *(f"- {each}" for each in messages)]
    lines += ["", "What to do:", "", *(f"- {each}" for each in (*hints(raised), remedy) if each)]
    return "\n".join(lines) + "\n"


def hints(raised: list[Raised]) -> list[str]:
    """What the code says to do, as far as it stands there."""
    return list(dict.fromkeys(each.hint for each in raised if each.hint.strip(f"{SOMETHING} :;,`")))


def events_page() -> str:
    """The events that `switchboard events` shows, with their fields."""
    tree = ast.parse((SOURCES / "core" / "events.py").read_text("utf-8"))
    lines = [
        "# Events",
        "",
        "What happens in the daemon, as `switchboard events --json` and `GET /control/events` tell",
        "it: one JSON object each, with `at`, `event` and these fields.",
        "",
        "| event | when | fields |",
        "|---|---|---|",
    ]
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            about = (ast.get_docstring(node) or "").partition("\n")[0]
            fields = [
                f"`{each.target.id}`"
                for each in node.body
                if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
            ]
            lines.append(f"| `{node.name}` | {about} | {', '.join(fields)} |")
    return "\n".join(lines) + "\n"


def commands_page() -> str:
    """Every verb as its `--help` tells it."""
    lines = [
        "# Commands",
        "",
        "What `switchboard VERB --help` says. [The command line](../cli.md) says more about most.",
    ]
    for name, verb in VERBS.items():
        usage = import_module(verb.module).USAGE
        lines += ["", f"## `{name}`", "", "```", *explanation(PROGRAM, usage), "```"]
    return "\n".join(lines) + "\n"


def man_page(program: Program, about: str, usages: Mapping[str, Usage]) -> str:
    """The manual of a command line, in the language of `man`."""
    lines = [
        f'.TH {program.name.upper()} 1 "" "Switchboard" "User Commands"',
        ".SH NAME",
        f"{program.name} \\- {about}",
        ".SH SYNOPSIS",
        f".B {program.name}",
        "COMMAND [OPTIONS]",
        ".SH OPTIONS",
    ]
    shared = [*_shared_options(program, next(iter(usages.values())))]
    lines += [".nf", *map(_roff, shared[1:]), ".fi", ".SH COMMANDS"]
    for name, usage in usages.items():
        own = "\n".join(explanation(program, usage)).replace("\n".join(shared), "")
        told = own.replace("\n\n\n", "\n\n").strip("\n").splitlines()
        lines += [f".SS {name}", ".nf", *map(_roff, told), ".fi"]
    lines += [".SH SEE ALSO", "The pages in docs/ of the project."]
    return "\n".join(lines) + "\n"


def _shared_options(program: Program, usage: Usage) -> Iterator[str]:
    """What the help of each command says of all: a heading, and lines until the next blank one."""
    is_there = False
    for line in explanation(program, usage):
        is_there = line.startswith("Options of every command") or (is_there and bool(line))
        if is_there:
            yield line


def _roff(line: str) -> str:
    """A line that `man` prints as it is."""
    line = line.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{line}" if line.startswith((".", "'")) else line


def pages() -> Iterator[tuple[Path, str]]:
    """Every file of the reference, and what it says."""
    yield from fault_pages()
    yield YARD_FAULTS, yard_faults_page()
    yield EVENTS, events_page()
    yield COMMANDS, commands_page()
    board = {name: import_module(verb.module).USAGE for name, verb in VERBS.items()}
    yard = {name: verb.usage for name, verb in yard_cli.VERBS.items()}
    ours, theirs = "one local MCP control plane for coding agents", "the local runtime of a project"
    yield MAN / "switchboard.1", man_page(PROGRAM, ours, board)
    yield MAN / "switchyard.1", man_page(yard_cli.PROGRAM, theirs, yard)
    # The short name of the same program.
    yield MAN / "sy.1", ".so man1/switchyard.1\n"


def main() -> int:
    """Write the pages, or compare them."""
    wanted = dict(pages())
    if "--check" in sys.argv:
        stale = [
            str(path)
            for path, text in wanted.items()
            if not (ROOT / path).exists() or (ROOT / path).read_text("utf-8") != text
        ]
        stale += [str(path) for path in _unwanted(wanted)]
        for path in stale:
            sys.stderr.write(f"{path} is not current: make schemas\n")
        return 1 if stale else 0
    for path in _unwanted(wanted):
        (ROOT / path).unlink()
    for path, text in wanted.items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text, "utf-8")
    return 0


def _unwanted(wanted: dict[Path, str]) -> list[Path]:
    found = (path.relative_to(ROOT) for path in (ROOT / FAULTS).glob("*.md"))
    return sorted(path for path in found if path not in wanted)


if __name__ == "__main__":
    sys.exit(main())
