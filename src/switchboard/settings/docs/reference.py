"""Writes the table of keys into the page about the configuration, or checks it.

`python -m switchboard.settings.docs.reference [--check] docs/configuration.md`
"""

import sys
from collections.abc import Iterator

from msgspec import json

from switchboard.config.keys import Field, Section
from switchboard.config.page_part import PagePart, table
from switchboard.settings.fields import all_sections
from switchboard.settings.server_fields import SERVER

_HEAD = ("key", "holds", "default", "a workspace", "also set by", "asks for trust again", "meaning")
_WORKSPACE = {"sets": "may set it", "tightens": "may make it stricter", "never": "has no say"}
_BOUND = {
    "no": "",
    "value": "yes",
    "members": "yes",
    "unless-default": "yes",
    "sandboxed": "in a sandbox",
}


def reference() -> str:
    """Every key, section by section."""
    parts = [_part(section) for section in (SERVER, *all_sections()) if section.fields]
    return "\n".join(parts)


def _part(section: Section) -> str:
    place = f"`{section.name}.NAME`" if section.is_named else f"`{section.name}`"
    files = " and ".join(f"`{file}`" for file in (section.file, *section.also))
    title = f"{place} in {files}" if section.name else f"{files} itself"
    lines = [f"#### {title}", ""]
    if section.unused:
        lines += [f"Nothing uses this yet: {section.unused}.", ""]
    rows = (_cells(section, field) for field in section.fields)
    return "\n".join([*lines, table(_HEAD, rows)])


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


PAGE = PagePart(name="keys", write=reference)


if __name__ == "__main__":
    sys.exit(PAGE.main(sys.argv[1:]))
