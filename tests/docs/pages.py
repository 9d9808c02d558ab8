"""The examples of our pages: every block between fences, with what the page says of it."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

from support.workspace import CHECKOUT

# How two blocks begin that show the same tools, with the lines of known ones and without.
KNOWN = "call_read_only_tool   `call_tool` for tools that only read. Known"
LEAN = "call_read_only_tool   `call_tool` for tools that only read.\n"
_BLOCK = re.compile(
    r"^(?:(?P<indent> *)<!-- (?P<note>[^\n]*) -->\n)?^(?P<more> *)```(?P<language>\w*)\n"
    r"(?P<text>.*?)^(?P=more)```$",
    re.MULTILINE | re.DOTALL,
)
# Written from the code, and compared with it by tests of their own.
_GENERATED = CHECKOUT / "docs" / "reference"


class Block(NamedTuple):
    """One example: where it stands, and what it is."""

    page: str
    line: int
    # What stands above it in a comment that nobody sees who reads the page.
    note: str
    language: str
    text: str

    @property
    def place(self) -> str:
        """The file that it is to be written into, if it is one."""
        return self.note.removeprefix("file: ") if self.note.startswith("file: ") else ""

    @property
    def commands(self) -> list[str]:
        """The command lines of it; one that goes on in the next line, or has a text, is one."""
        joined = self.text.replace("\\\n", " ")
        found: list[str] = []
        until = ""
        for line in joined.splitlines():
            if until or (found and found[-1].endswith("\\")):
                found[-1] += f"\n{line}"
                until = "" if line == until else until
                continue
            found.append(line)
            if begins := re.search(r"<<'(\w+)'", line):
                until = begins[1]
        return [each for each in found if each.strip()]


def pages() -> list[Path]:
    """The README, and every page of the documentation that a person wrote."""
    found = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").rglob("*.md"))]
    return [page for page in found if not page.is_relative_to(_GENERATED)]


@cache
def blocks_of(page: str) -> tuple[Block, ...]:
    """The examples of one page, in their order."""
    return tuple(_blocks(page))


def every_block() -> list[Block]:
    """The examples of all pages."""
    return [block for page in pages() for block in blocks_of(page.relative_to(CHECKOUT).as_posix())]


def _blocks(page: str) -> Iterator[Block]:
    text = (CHECKOUT / page).read_text("utf-8")
    for found in _BLOCK.finditer(text):
        yield Block(
            page=page,
            line=text.count("\n", 0, found.start()) + 1,
            note=found["note"] or "",
            language=found["language"],
            text=dedent(found["text"]),
        )
