"""Writes the table of keys into the page about the configuration, or checks it.

`python -m switchboard.settings.reference [--check] docs/configuration.md`
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import json

from switchboard.config.keys import Field, FileName, Section
from switchboard.config.strict import Either, Items, Members, Text, Truth, Whole
from switchboard.settings.fields import all_sections
from switchboard.settings.server_fields import SERVER

BEGIN, END = "<!-- keys: written by `make schemas` -->\n", "<!-- end of keys -->\n"
_HEAD = ("key", "holds", "default", "a workspace", "also set by", "asks for trust again", "meaning")
_WORKSPACE = {"sets": "may set it", "tightens": "may make it stricter", "never": "has no say"}
_BOUND = {
    "no": "",
    "value": "yes",
    "names": "only new names",
    "unless-default": "yes",
    "sandboxed": "in a sandbox",
}


def reference() -> str:
    """Every key, section by section."""
    parts = [_part(section) for section in (SERVER, *all_sections()) if section.fields]
    return "\n".join(parts)


def with_reference(page: str) -> str:
    """The page with the keys as they are now between its two marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{reference()}\n{END}{after}"


def _part(section: Section) -> str:
    place = f"`{section.name}.NAME`" if section.is_named else f"`{section.name}`"
    title = f"{place} in `{section.file}`" if section.name else f"`{section.file}` itself"
    lines = [f"#### {title}", ""]
    if section.unused:
        lines += [f"Nothing uses this yet: {section.unused}.", ""]
    lines += [_line(_HEAD), _line(("---",) * len(_HEAD))]
    return "\n".join([*lines, *(_line(_cells(section, field)) for field in section.fields), ""])


def _line(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def _cells(section: Section, field: Field) -> tuple[str, ...]:
    key = field.spelled(section.file)
    default = section.default(field)
    others = [*(f"`{each}`" for each in field.variables)]
    if field.flag:
        others.append(f"`--{field.flag.replace('_', '-')}`")
    said = [field.kind.about] if getattr(field.kind, "about", "") else []
    said += _spellings(section, field)
    if field.unused:
        said.append(f"Nothing uses this yet: {field.unused}.")
    if field.means:
        said.append(f"The same as `{field.means}`.")
    return (
        f"`{key}`",
        _held(field.kind),
        "" if default in (None, "", ()) else f"`{json.encode(default).decode()}`",
        _WORKSPACE[field.workspace],
        ", ".join(others),
        _BOUND[field.bound],
        " ".join(said),
    )


def _spellings(section: Section, field: Field) -> Iterator[str]:
    """The files that hold a key beside that of its section, where that is not all of them."""
    files: tuple[FileName, ...] = (section.file,) if field.files is None else field.files
    if section is SERVER:
        alias = field.spelled(".mcp.json")
        places = [f"`{file}`" for file in (".mcp.json", "switchboard.config.json") if file in files]
        if places:
            word = "Also" if alias == field.name else f"`{alias}`"
            yield f"{word} in {' and '.join(places)}."
        if section.file not in files and not places:
            yield f"Only in a file named by `{files[0]}`."
    elif not files:
        yield "In no file."


def _held(kind: Any) -> str:  # noqa: PLR0911 - one return a kind
    match kind:
        case Text(choices=choices) if choices:
            return ", ".join(f"`{choice}`" for choice in choices)
        case Text():
            return "text"
        case Whole():
            return "a whole number"
        case Truth():
            return "`true`, `false`"
        case Items():
            return "a list"
        case Either():
            return f"{_held(kind.first)}, or {_held(kind.other)}"
        case Members():
            return "a table by name"
        case _:
            return "a table"


def main(arguments: list[str]) -> int:
    """Write the page if it has changed; with `--check`, only say that it would."""
    (name,) = (word for word in arguments if not word.startswith("-"))
    path = Path(name)
    page = path.read_text("utf-8")
    current = with_reference(page)
    if current == page:
        return 0
    if "--check" in arguments:
        sys.stderr.write(f"error: the keys in `{path}` are not current\n")
        return 1
    path.write_text(current, "utf-8")
    sys.stdout.write(f"wrote {path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
