"""Writes the table of keys into the page about the configuration, or checks it.

`python -m switchboard.settings.docs.reference [--check] docs/configuration.md`
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from msgspec import json

from switchboard.config.keys import Field, Section
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
    choices: tuple[str, ...] = getattr(field.kind, "choices", ())
    flags = (f"--{field.flag.replace('_', '-')}",) if field.flag else ()
    said = [field.kind.about] if getattr(field.kind, "about", "") else []
    said += _spellings(section, field)
    if field.unused:
        said.append(f"Nothing uses this yet: {field.unused}.")
    if field.means:
        said.append(f"The same as `{field.means}`.")
    return (
        f"`{key}`",
        ", ".join(f"`{each}`" for each in choices) or field.kind.wanted(),
        "" if default in (None, "", ()) else f"`{json.encode(default).decode()}`",
        _WORKSPACE[field.workspace],
        ", ".join(f"`{each}`" for each in (*field.variables, *flags)),
        _BOUND[field.bound],
        " ".join(said),
    )


def _spellings(section: Section, field: Field) -> Iterator[str]:
    """Where a key is written beside the file of its section, or instead of it."""
    files = (section.file,) if field.files is None else field.files
    camel = [file for file in (".mcp.json", "switchboard.config.json") if file in files]
    if section is SERVER and camel:
        word = field.spelled(".mcp.json")
        places = " and ".join(f"`{file}`" for file in camel)
        yield f"{'Also' if word == field.name else f'`{word}`'} in {places}."
    elif not files:
        yield "In no file."
    elif section is SERVER and section.file not in files:
        yield f"Only in a file named by `{files[0]}`."


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
