"""What a child offers, as it lists it: tools, prompts, resources and templates of resources."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from switchboard.children.inbound.sizes import (
    MOST_ENTRIES,
    MOST_LISTING_BYTES,
    MOST_TEMPLATE_LETTERS,
    MOST_TEMPLATES,
    is_large,
    listing_too_large,
)
from switchboard.children.listings.legible import legible
from switchboard.core.catalog.tools import Effects
from switchboard.wire.messages import encode
from switchboard.wire.param_headers import MARK, are_valid

Kind = Literal["tools", "prompts", "resources", "templates"]

_MAX_PAGES = 1_000
# What is read in a moment.
_QUICK_BYTES = 128 * 1024

METHODS: dict[Kind, str] = {
    "tools": "tools/list",
    "prompts": "prompts/list",
    "resources": "resources/list",
    "templates": "resources/templates/list",
}
# What a child declares to have each kind, and names when a kind has changed.
FEATURES: dict[Kind, str] = {
    "tools": "tools",
    "prompts": "prompts",
    "resources": "resources",
    "templates": "resources",
}


class Annotations(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a child says that a tool does. Nobody has checked it."""

    read_only_hint: bool | None = None
    destructive_hint: bool | None = None
    idempotent_hint: bool | None = None
    open_world_hint: bool | None = None

    @property
    def effects(self) -> Effects:
        """The same in our words."""
        return Effects(
            read_only=self.read_only_hint,
            destructive=self.destructive_hint,
            idempotent=self.idempotent_hint,
            open_world=self.open_world_hint,
        )


class ToolEntry(Struct, frozen=True, kw_only=True, rename="camel"):
    """One tool. Its schemas stay as the child wrote them."""

    name: str
    title: str | None = None
    description: str | None = None
    input_schema: Raw = Raw(b'{"type":"object"}')
    output_schema: Raw = Raw(b"")
    annotations: Annotations | None = None


class Listing(Struct, frozen=True, kw_only=True):
    """Every entry by its name or URI, unopened and in the child's order."""

    entries: dict[str, Raw] = {}
    # Entries that could not be read, by position.
    malformed: tuple[int, ...] = ()
    # Those that are left out because there is too much of them, by their names.
    oversized: tuple[str, ...] = ()


class ToolListing(Listing, frozen=True, kw_only=True):
    """A listing of tools, opened."""

    tools: dict[str, ToolEntry] = {}


class _Page(Struct, rename="camel"):
    tools: list[Raw] = []
    prompts: list[Raw] = []
    resources: list[Raw] = []
    templates: list[Raw] = msgspec.field(name="resourceTemplates", default_factory=list[Raw])
    next_cursor: str | None = None


class _NamedItem(Struct):
    name: str


class _LocatedItem(Struct):
    uri: str


class _TemplatedItem(Struct, rename="camel"):
    uri_template: str


_read_page = msgspec.json.Decoder(_Page).decode
_read_tool = msgspec.json.Decoder(ToolEntry).decode
_read_named = msgspec.json.Decoder(_NamedItem).decode
_read_located = msgspec.json.Decoder(_LocatedItem).decode
_read_templated = msgspec.json.Decoder(_TemplatedItem).decode

# Sends the listing request with these members of its params.
Ask = Callable[[bytes], Awaitable[Raw]]


async def fetch_tools(ask: Ask) -> ToolListing:
    """Every tool."""
    return _tools_of(await _fetch(ask, "tools"))


async def fetch_listing(kind: Kind, ask: Ask) -> Listing:
    """Every entry of a kind. Raises MsgspecError, and a fault where there is too much of it."""
    raws = await _fetch(ask, kind)
    if _bytes_in(raws) <= _QUICK_BYTES:
        return _legible_listing(kind, raws)
    # Nobody else waits while it is read.
    return await asyncio.to_thread(_legible_listing, kind, raws)


def _legible_listing(kind: Kind, raws: Sequence[Raw]) -> Listing:
    return listing_of(kind, [each if is_large(each) else legible(each) for each in raws])


def listing_of(kind: Kind, raws: Sequence[Raw]) -> Listing:
    """The listing that these entries make."""
    if kind == "tools":
        return _tools_of(raws)
    entries: dict[str, Raw] = {}
    malformed: list[int] = []
    oversized: list[str] = []
    for position, raw in enumerate(raws):
        try:
            key = _key(kind, raw)
        except msgspec.MsgspecError:
            malformed.append(position)
        else:
            if is_large(raw) or (kind == "templates" and len(key) > MOST_TEMPLATE_LETTERS):
                oversized.append(key)
            else:
                entries.setdefault(key, raw)
    return Listing(entries=entries, malformed=tuple(malformed), oversized=tuple(oversized))


def _tools_of(raws: Sequence[Raw]) -> ToolListing:
    entries: dict[str, Raw] = {}
    tools: dict[str, ToolEntry] = {}
    malformed: list[int] = []
    oversized: list[str] = []
    for position, raw in enumerate(raws):
        try:
            tool = _read_tool(raw)
        except msgspec.MsgspecError:
            malformed.append(position)
        else:
            if is_large(raw):
                oversized.append(tool.name)
            else:
                tools.setdefault(tool.name, tool)
                entries.setdefault(tool.name, raw)
    return ToolListing(
        entries=entries, tools=tools, malformed=tuple(malformed), oversized=tuple(oversized)
    )


def without_invalid_headers(listing: ToolListing) -> ToolListing:
    """Without the tools whose schema asks for invalid headers: over HTTP they cannot be called."""
    tools = {
        name: tool
        for name, tool in listing.tools.items()
        if MARK not in bytes(tool.input_schema) or are_valid(msgspec.json.decode(tool.input_schema))
    }
    if len(tools) == len(listing.tools):
        return listing
    entries = {name: listing.entries[name] for name in tools}
    return replace(listing, entries=entries, tools=tools)


def _key(kind: Kind, raw: Raw) -> str:
    if kind == "resources":
        return _read_located(raw).uri
    if kind == "templates":
        return _read_templated(raw).uri_template
    return _read_named(raw).name


def _bytes_in(raws: Sequence[Raw]) -> int:
    return sum(len(memoryview(raw)) for raw in raws)


async def _fetch(ask: Ask, kind: Kind) -> list[Raw]:
    """Follow the pages to the end. Raises MsgspecError, and a fault where there is no end to it."""
    most = MOST_TEMPLATES if kind == "templates" else MOST_ENTRIES
    found: list[Raw] = []
    size = 0
    cursors: set[str] = set()
    cursor: str | None = None
    while len(cursors) < _MAX_PAGES:
        page = _read_page(await ask(b'"cursor":%b' % encode(cursor) if cursor else b""))
        entries: list[Raw] = getattr(page, kind)
        if len(found) + len(entries) > most:
            raise listing_too_large(METHODS[kind], f"{most:,} entries")
        size += _bytes_in(entries)
        if size > MOST_LISTING_BYTES:
            raise listing_too_large(METHODS[kind], f"{MOST_LISTING_BYTES:,} bytes")
        found += entries
        cursor = page.next_cursor
        # A cursor that comes back would go round for ever.
        if not cursor or cursor in cursors:
            break
        cursors.add(cursor)
    return found
