"""One child shown as one tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Raw, Struct
from msgspec.json import encode
from msgspec.structs import replace

from switchboard.children.exposure import IntrospectionMode, ResultMode
from switchboard.children.listings.listing import ToolEntry, ToolListing
from switchboard.children.pool import ChildSource
from switchboard.children.server_launches import ServerLaunches
from switchboard.core.identity_cache import IdentityCache
from switchboard.core.tools import Effects, Policy, ToolSpec
from switchboard.core.visibility import Visibility
from switchboard.providers.suites.natural import query
from switchboard.providers.suites.summaries import summarise

if TYPE_CHECKING:
    # Few servers have one, and it loads what talks to models.
    from switchboard.providers.suites.natural.interpreter import Interpreter

_LONGEST_NAME = 256
_MOST_NAMES = 1_024
# Texts are long.
_MOST_SHOWN = 8


class _Shown(Struct, rename="camel"):
    name: str
    summary: str
    input_schema: Raw


class _Introspection(Struct):
    tools: list[_Shown]


class Suite:
    """Where its child comes from, how it is shown, and what was said of it already."""

    def __init__(
        self,
        spec: ToolSpec,
        children: ChildSource,
        *,
        subtools: Visibility,
        mode: IntrospectionMode,
        summary_max_chars: int,
        result_mode: ResultMode,
        launches: ServerLaunches,
        interpreter: Interpreter | None = None,
        is_natural_only: bool = False,
    ) -> None:
        self.spec = spec
        self.children = children
        self.subtools = subtools
        self.result_mode = result_mode
        self._mode = mode
        self._summary_max_chars = summary_max_chars
        self._timeout = Policy(timeout_s=children.limits.rpc_s, longest_s=children.limits.longest_s)
        self._specs: dict[str, ToolSpec] = {}
        # The tools as the child lists them, and what was said of them, by the listing. A session
        # may have a child of its own.
        self._listed: IdentityCache[dict[str, ToolSpec]] = IdentityCache()
        self._shown: IdentityCache[str] = IdentityCache(_MOST_SHOWN)
        self.launches = launches
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
        specs = self._listed.get((listing,), dict[str, ToolSpec])
        entry = listing.tools.get(name)
        if name not in specs and entry is not None:
            specs[name] = ToolSpec(
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
        return specs.get(name)

    def introspect(self, listing: ToolListing | None) -> str:
        """Every subtool that is shown, as JSON. Without a listing, those that are ours."""
        if listing is None:
            return encode(_Introspection(self._ours())).decode()
        return self._shown.get((listing,), lambda: self._introspection(listing))

    def _introspection(self, listing: ToolListing) -> str:
        ours = self._ours()
        shown = [
            self._describe(tool, full=self._mode == "full")
            for tool in listing.tools.values()
            if self.shows(tool.name) and not (ours and tool.name == query.NAME)
        ]
        return encode(_Introspection([*ours, *shown])).decode()

    def _ours(self) -> list[_Shown]:
        return [
            _Shown(name=spec.name, summary=spec.description, input_schema=spec.input_schema)
            for spec in self.own_tools
        ]

    def introspect_one(self, tool: ToolEntry) -> str:
        """One subtool in full, as JSON."""
        return encode(_Introspection([self._describe(tool, full=True)])).decode()

    def _describe(self, tool: ToolEntry, *, full: bool) -> _Shown:
        text = tool.description or tool.title or ""
        summary = text if full else summarise(text, self._summary_max_chars)
        return _Shown(name=tool.name, summary=summary, input_schema=tool.input_schema)
