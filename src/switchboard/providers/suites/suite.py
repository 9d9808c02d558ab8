"""One child shown as one tool."""

from msgspec import Raw, Struct
from msgspec.json import encode

from switchboard.children.exposure import IntrospectionMode, ResultMode
from switchboard.children.listings.listing import ToolEntry, ToolListing
from switchboard.children.pool import ChildSource
from switchboard.children.server_launches import ServerLaunches
from switchboard.core.identity_cache import IdentityCache
from switchboard.core.tools import Effects, Policy, ToolSpec
from switchboard.core.visibility import Visibility
from switchboard.providers.suites.summaries import summarise

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
        # Looking at a suite changes nothing, so it is a tool of its own on the road.
        self.introspection = ToolSpec(
            name=spec.name,
            provider=spec.provider,
            effects=Effects(read_only=True, destructive=False, idempotent=True),
            origin=spec.origin,
            # The child bounds its own start and listing.
        )

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
            )
        return specs.get(name)

    def introspect(self, listing: ToolListing) -> str:
        """Every subtool that is shown, as JSON."""
        return self._shown.get((listing,), lambda: self._introspection(listing))

    def _introspection(self, listing: ToolListing) -> str:
        shown = [
            self._describe(tool, full=self._mode == "full")
            for tool in listing.tools.values()
            if self.subtools.shows(tool.name)
        ]
        return encode(_Introspection(shown)).decode()

    def introspect_one(self, tool: ToolEntry) -> str:
        """One subtool in full, as JSON."""
        return encode(_Introspection([self._describe(tool, full=True)])).decode()

    def _describe(self, tool: ToolEntry, *, full: bool) -> _Shown:
        text = tool.description or tool.title or ""
        summary = text if full else summarise(text, self._summary_max_chars)
        return _Shown(name=tool.name, summary=summary, input_schema=tool.input_schema)
