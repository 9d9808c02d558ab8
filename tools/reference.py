"""Write the reference that is made from the code: commands, faults, events, the manual page.

Run with `--check` it writes nothing, and fails where a page is not what the code says.
"""

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from switchboard.cli.options import PROGRAM
from switchboard.cli.table import VERBS
from switchkit.cli.explain import explanation

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "switchboard"
FAULTS = Path("docs/reference/faults")
EVENTS = Path("docs/reference/events.md")
COMMANDS = Path("docs/reference/commands.md")
MAN = Path("man")
_SOMETHING = "…"
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


class Raised(NamedTuple):
    """One place where a fault is made."""

    code: str
    message: str
    hint: str


def faults() -> dict[str, list[Raised]]:
    """Every fault by its reason, as far as the code names it in one place."""
    found: dict[str, list[Raised]] = defaultdict(list)
    for path in sorted(SOURCES.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        names = {
            target.id: node.value.value
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            if (made := _raised(node, names)) is not None and made[1] not in found[made[0]]:
                found[made[0]].append(made[1])
    return {reason: raised for reason, raised in sorted(found.items()) if raised}


def _raised(node: ast.AST, names: Mapping[str, object]) -> tuple[str, Raised] | None:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return None
    if node.func.id != "Fault" or len(node.args) != len(Raised._fields):
        return None
    code, reason, message = node.args
    word = reason.value if isinstance(reason, ast.Constant) else None
    if isinstance(reason, ast.Name):
        word = names.get(reason.id)
    if not isinstance(word, str):
        return None
    hint = next((each.value for each in node.keywords if each.arg == "hint"), None)
    kind = code.attr if isinstance(code, ast.Attribute) and code.attr in _MEANINGS else ""
    return word, Raised(kind, _text(message), _text(hint) if hint is not None else "")


def _text(node: ast.expr) -> str:
    """A text of the code, with a mark for what only the moment knows."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(_text(part) for part in parts)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _text(left) + _text(right)
        case ast.IfExp(body=body):
            return _text(body)
        case _:
            return _SOMETHING


def fault_pages() -> Iterator[tuple[Path, str]]:
    """A page for each, and one with all of them."""
    every = faults()
    rows = [f"| [{reason}]({reason}.md) | {_first(raised)} |" for reason, raised in every.items()]
    yield (
        FAULTS / "README.md",
        "\n".join(
            (
                "# Faults",
                "",
                "Whatever fails, fails with a code, a reason of this list, a message and, where",
                "there is one, a hint. `--json` has all four; clients get them with the result.",
                "",
                "| reason | says |",
                "|---|---|",
                *rows,
                "",
            )
        ),
    )
    for reason, raised in every.items():
        yield FAULTS / f"{reason}.md", _page(reason, raised)


def _first(raised: list[Raised]) -> str:
    told = next((each.message for each in raised if each.message != _SOMETHING), _SOMETHING)
    return told.replace("|", "\\|").replace("\n", " ")


def _page(reason: str, raised: list[Raised]) -> str:
    codes = list(dict.fromkeys(each.code for each in raised if each.code))
    lines = [f"# {reason}", ""]
    lines += [f"Code `{code.lower()}`: {_MEANINGS[code]}." for code in codes]
    messages = list(dict.fromkeys(each.message for each in raised if each.message != _SOMETHING))
    if messages:
        lines += ["", "It says:", "", *(f"- {each}" for each in messages)]
    hints = list(dict.fromkeys(each.hint for each in raised if each.hint.strip(_SOMETHING)))
    if hints:
        lines += ["", "What to do:", "", *(f"- {each}" for each in hints)]
    return "\n".join(lines) + "\n"


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


def man_page() -> str:
    """The manual of the command line, in the language of `man`."""
    lines = [
        '.TH SWITCHBOARD 1 "" "Switchboard" "User Commands"',
        ".SH NAME",
        "switchboard \\- one local MCP control plane for coding agents",
        ".SH SYNOPSIS",
        ".B switchboard",
        "COMMAND [OPTIONS]",
        ".SH COMMANDS",
    ]
    for name, verb in VERBS.items():
        usage = import_module(verb.module).USAGE
        lines += [f".SS {name}", ".nf", *map(_roff, explanation(PROGRAM, usage)), ".fi"]
    lines += [".SH SEE ALSO", "The pages in docs/ of the project."]
    return "\n".join(lines) + "\n"


def _roff(line: str) -> str:
    """A line that `man` prints as it is."""
    line = line.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{line}" if line.startswith((".", "'")) else line


def pages() -> Iterator[tuple[Path, str]]:
    """Every file of the reference, and what it says."""
    yield from fault_pages()
    yield EVENTS, events_page()
    yield COMMANDS, commands_page()
    yield MAN / "switchboard.1", man_page()


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
