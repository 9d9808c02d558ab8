"""One child shown as one tool."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace

from switchboard.children.exposure import Introspection, ResultMode
from switchboard.children.listings.host_rules import refused_tools
from switchboard.children.listings.listing import ToolEntry, ToolListing
from switchboard.children.server_launches import ServerLaunches
from switchboard.children.sharing.sources import ChildSource
from switchboard.core.catalog.tools import Effects, Policy, ToolSpec
from switchboard.core.catalog.visibility import Visibility
from switchboard.core.identity_cache import IdentityCache
from switchboard.providers.suites.introspection.answer import (
    ShownSubtool,
    Writer,
    all_tools,
    as_json,
    chosen_tools,
    naming_refused,
)
from switchboard.providers.suites.introspection.lines import as_lines
from switchboard.providers.suites.natural import query
from switchboard.results.room import AUTO_TOKENS, UNBOUNDED, Room, within
from switchboard.search.summaries import summarise

if TYPE_CHECKING:
    # Few servers have one, and it loads what talks to models.
    from switchboard.providers.suites.natural.interpreter import Interpreter

_LONGEST_NAME = 256
_MOST_NAMES = 1_024
# Texts are long.
_MOST_SHOWN = 8
# Clients that have been told a server's instructions; those before them are told again.
_MOST_TOLD = 1_024

_WITH_DOCS, _WITHOUT_DOCS = partial(as_lines, with_docs=True), partial(as_lines, with_docs=False)


class _Particulars(Struct, rename="camel"):
    """What a server says of a tool beyond its name and arguments, as it wrote it."""

    title: str | None = None
    annotations: Raw | UnsetType = UNSET
    output_schema: Raw | UnsetType = UNSET


_read_particulars = msgspec.json.Decoder(_Particulars).decode


class Suite:
    """Where its child comes from, how it is shown, and what was said of it already."""

    def __init__(
        self,
        spec: ToolSpec,
        children: ChildSource,
        *,
        subtools: Visibility,
        introspection: Introspection,
        result_mode: ResultMode,
        launches: ServerLaunches,
        # From how many tokens on hosts that keep results do so.
        inline_tokens: int = 0,
        interpreter: Interpreter | None = None,
        is_natural_only: bool = False,
    ) -> None:
        self.spec = spec
        self.children = children
        self.subtools = subtools
        self.result_mode = result_mode
        self.inline_tokens = inline_tokens
        self._settings = introspection
        self._timeout = Policy(timeout_s=children.limits.rpc_s, longest_s=children.limits.longest_s)
        self._specs: dict[str, ToolSpec] = {}
        # The tools as the child lists them, and what was said of them, by the listing. A session
        # may have a child of its own.
        self._listed: IdentityCache[dict[str, ToolSpec]] = IdentityCache()
        # The listing that was asked about last, and what was made of it: nearly always the same.
        self._latest: tuple[ToolListing | None, dict[str, ToolSpec]] = (None, {})
        self._shown: IdentityCache[str] = IdentityCache(_MOST_SHOWN)
        self._refused: IdentityCache[dict[str, str]] = IdentityCache(_MOST_SHOWN)
        # Who has been told what the server says of itself.
        self._told: dict[str, None] = {}
        self.launches = launches
        # Whether each call is for one of several children.
        self.chooses = children.accounts is not None or children.trees is not None
        # Who turns sentences into calls, where the owner of the child wants that.
        denied = not Visibility(None, subtools.deny).shows(query.NAME)
        self.interpreter = None if denied else interpreter
        self._is_natural_only = interpreter is not None and is_natural_only
        # Whether a client may call a subtool by its name.
        self.shows = Visibility((), ()).shows if self._is_natural_only else subtools.shows
        # Whether the tool itself takes a sentence, as that of a wrapper does.
        self.takes_query = spec.input_schema is query.QUERY_SCHEMA
        # The way by which such a call came, so that its answer can tell what was chosen.
        self.interpreted = replace(spec)
        self._natural = ToolSpec(
            name=query.NAME,
            provider=spec.provider,
            description=query.SUMMARY,
            input_schema=query.QUERY_SCHEMA,
            policy=self._timeout,
            origin=spec.origin,
        )
        # Looking at a suite changes nothing, so it is a tool of its own on the road.
        self.introspection = ToolSpec(
            name=spec.name,
            provider=spec.provider,
            effects=Effects(read_only=True, destructive=False, idempotent=True),
            origin=spec.origin,
            # The child bounds its own start and listing.
        )

    @property
    def asks_nobody(self) -> bool:
        """Whether all that it shows is known without its child."""
        return self._is_natural_only

    def is_natural(self, name: str, listing: ToolListing | None = None) -> bool:
        """Whether this is the subtool that takes a sentence; a child's own `converse` is not."""
        if self.interpreter is None or name not in query.NAMES:
            return False
        is_taken = listing is not None and name in listing.tools and self.shows(name)
        return name == query.NAME or not is_taken

    @property
    def own_tools(self) -> tuple[ToolSpec, ...]:
        """The subtools that are ours and not the child's."""
        return (self._natural,) if self.interpreter is not None else ()

    def callable_tools(self, listing: ToolListing) -> tuple[ToolSpec, ...]:
        """What a model may choose from: the child's own tools, as far as they are allowed."""
        names = (name for name in listing.tools if self.subtools.shows(name))
        found = (self.listed(name, listing) for name in names if name != query.NAME)
        return tuple(spec for spec in found if spec is not None)

    def subtool(self, name: str) -> ToolSpec:
        """The exact tool that a call is narrowed to, where nobody judges what the child says."""
        spec = self._specs.get(name)
        if spec is None:
            spec = ToolSpec(
                name=name,
                provider=self.spec.provider,
                policy=self._timeout,
                origin=self.spec.origin,
            )
            # Names come from clients, who may make up as many as they like.
            if len(name) <= _LONGEST_NAME:
                if len(self._specs) >= _MOST_NAMES:
                    self._specs.clear()
                self._specs[name] = spec
        return spec

    def listed(self, name: str, listing: ToolListing) -> ToolSpec | None:
        """The exact tool with everything that the child says of it; the same as long as it is."""
        return self.known(name, listing) if name in listing.tools else None

    def known(self, name: str, listing: ToolListing) -> ToolSpec:
        """The same of a tool that the child is known to list."""
        latest, specs = self._latest
        if listing is not latest:
            specs = self._listed.get((listing,), dict[str, ToolSpec])
            self._latest = (listing, specs)
        spec = specs.get(name)
        if spec is None:
            entry = listing.tools[name]
            spec = specs[name] = ToolSpec(
                name=name,
                provider=self.spec.provider,
                title=entry.title or "",
                description=entry.description or "",
                input_schema=entry.input_schema,
                output_schema=entry.output_schema or None,
                effects=entry.annotations.effects if entry.annotations else Effects(),
                policy=self._timeout,
                origin=self.spec.origin,
                listed=listing.entries[name],
            )
        return spec

    def news(self, holder: str, instructions: str) -> str:
        """The instructions of its server, for a client that has not been told them yet."""
        if not instructions or holder in self._told:
            return ""
        if len(self._told) >= _MOST_TOLD:
            del self._told[next(iter(self._told))]
        self._told[holder] = None
        return instructions

    def introspect(
        self,
        listing: ToolListing | None,
        host: Room,
        instructions: str = "",
        *,
        with_schemas: bool = False,
    ) -> str:
        """Every subtool that is shown. Without a listing, those that are ours."""
        write = self._writer(in_full=self._settings.mode == "full", with_schemas=with_schemas)
        if listing is None:
            return chosen_tools(self._ours(), host=UNBOUNDED, write=write)
        if not self._settings.is_bounded:
            host = UNBOUNDED
        if instructions:
            return self._all(listing, host, write, instructions)
        return self._shown.get((listing, host, write), lambda: self._all(listing, host, write))

    def _writer(self, *, in_full: bool, with_schemas: bool) -> Writer:
        """Who writes an answer in the shape that is wanted; whole schemas are always JSON."""
        if self._settings.format == "json" or with_schemas:
            return as_json
        return _WITH_DOCS if in_full else _WITHOUT_DOCS

    def _all(self, listing: ToolListing, host: Room, write: Writer, instructions: str = "") -> str:
        mode, ours = self._settings.mode, self._ours()
        shown = [
            self._describe(tool, full=mode == "full")
            for tool in listing.tools.values()
            if self.shows(tool.name) and not (ours and tool.name == query.NAME)
        ]
        return all_tools(
            [*ours, *shown],
            most_chars=self._settings.summary_max_chars,
            with_schemas=within(host, AUTO_TOKENS) if mode == "auto" else host,
            host=host,
            instructions=instructions,
            write=naming_refused(write, self._refused_in(listing)),
        )

    def _refused_in(self, listing: ToolListing) -> dict[str, str]:
        """The tools that hosts would refuse, judged once for each listing."""
        return self._refused.get((listing,), lambda: refused_tools(listing))

    def _ours(self) -> list[ShownSubtool]:
        return [
            ShownSubtool(name=spec.name, summary=spec.description, input_schema=spec.input_schema)
            for spec in self.own_tools
        ]

    def introspect_some(
        self,
        names: list[str],
        listing: ToolListing,
        host: Room,
        instructions: str = "",
        *,
        with_schemas: bool = False,
    ) -> str:
        """These subtools in full."""
        ours = {tool.name: tool for tool in self._ours()}
        shown = [ours[name] if name in ours else self._in_full(name, listing) for name in names]
        if not self._settings.is_bounded:
            host = UNBOUNDED
        write = naming_refused(
            self._writer(in_full=True, with_schemas=with_schemas), self._refused_in(listing)
        )
        return chosen_tools(shown, host=host, instructions=instructions, write=write)

    def _in_full(self, name: str, listing: ToolListing) -> ShownSubtool:
        shown = self._describe(listing.tools[name], full=True)
        more = _read_particulars(listing.entries[name])
        return replace(
            shown,
            title=more.title or UNSET,
            annotations=more.annotations,
            output_schema=more.output_schema,
        )

    def _describe(self, tool: ToolEntry, *, full: bool) -> ShownSubtool:
        text = tool.description or tool.title or ""
        summary = text if full else summarise(text, self._settings.summary_max_chars)
        return ShownSubtool(name=tool.name, summary=summary, input_schema=tool.input_schema)
