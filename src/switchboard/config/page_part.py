"""A part of a page for people that is written from the code, and checked against it."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec import Struct


class PagePart(Struct, frozen=True, kw_only=True):
    """What stands between two marks of a page. What stands around them is written by hand."""

    # What it holds, as people call it: `keys`, `tables`.
    name: str
    write: Callable[[], str]

    @property
    def begin(self) -> str:
        return f"<!-- {self.name}: written by `make schemas` -->\n"

    @property
    def end(self) -> str:
        return f"<!-- end of {self.name} -->\n"

    def put_into(self, page: str) -> str:
        """The page with this part as it is now."""
        before, _, rest = page.partition(self.begin)
        _, _, after = rest.partition(self.end)
        return f"{before}{self.begin}\n{self.write()}\n{self.end}{after}"

    def main(self, arguments: list[str]) -> int:
        """Write the page if it has changed; with `--check`, only say that it would."""
        (name,) = (word for word in arguments if not word.startswith("-"))
        path = Path(name)
        page = path.read_text("utf-8")
        current = self.put_into(page)
        if current == page:
            return 0
        if "--check" in arguments:
            sys.stderr.write(f"error: the {self.name} in `{path}` are not current\n")
            return 1
        path.write_text(current, "utf-8")
        sys.stdout.write(f"wrote {path}\n")
        return 0


def table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table of Markdown."""
    lines = [heads, ("---",) * len(heads), *rows]
    return "".join(f"| {' | '.join(map(_cell, cells))} |\n" for cells in lines)


def _cell(text: str) -> str:
    return text.replace("|", r"\|")
