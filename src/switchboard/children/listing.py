"""The tools of a child, as it lists them."""

from collections.abc import Awaitable, Callable

import msgspec
from msgspec import Raw, Struct

from switchboard.wire.messages import encode

_MAX_PAGES = 1_000


class ToolEntry(Struct, frozen=True, kw_only=True, rename="camel"):
    """One tool. Its schema stays as the child wrote it."""

    name: str
    title: str | None = None
    description: str | None = None
    input_schema: Raw = Raw(b'{"type":"object"}')


class Listing(Struct, frozen=True, kw_only=True):
    """Every tool by name, in the child's order."""

    tools: dict[str, ToolEntry]
    # Entries that could not be read, by position.
    malformed: tuple[int, ...] = ()


class _Page(Struct, rename="camel"):
    tools: list[Raw] = []
    next_cursor: str | None = None


_read_page = msgspec.json.Decoder(_Page).decode
_read_tool = msgspec.json.Decoder(ToolEntry).decode


async def fetch_listing(ask: Callable[[bytes], Awaitable[Raw]]) -> Listing:
    """Follow the pages to the end. `ask` sends `tools/list` with these members of its params."""
    tools: dict[str, ToolEntry] = {}
    malformed: list[int] = []
    position = 0
    cursors: set[str] = set()
    cursor: str | None = None
    while len(cursors) < _MAX_PAGES:
        page = _read_page(await ask(b'"cursor":%b' % encode(cursor) if cursor else b""))
        for raw in page.tools:
            try:
                tool = _read_tool(raw)
            except msgspec.MsgspecError:
                malformed.append(position)
            else:
                tools.setdefault(tool.name, tool)
            position += 1
        cursor = page.next_cursor
        # A cursor that comes back would go round for ever.
        if not cursor or cursor in cursors:
            break
        cursors.add(cursor)
    return Listing(tools=tools, malformed=tuple(malformed))
