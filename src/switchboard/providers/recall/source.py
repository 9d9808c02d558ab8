"""The plug of kept results: one tool that reads them, where some results are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from switchboard.core.catalog.names import suite_name, tool_name
from switchboard.core.catalog.visibility import Visibility
from switchboard.providers.recall.specs import PROVIDER, read_spec
from switchboard.providers.source import Listed, ListingContext, Source
from switchboard.results.inlining import READ_RESULT, keeps_results, letters_left

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from switchboard.children.schema import ServerEntry
    from switchboard.core.catalog.tools import ToolSpec
    from switchboard.core.ports import Provider
    from switchboard.core.sessions import Session
    from switchboard.providers.context import Context
    from switchboard.settings.sections import Settings
    from switchboard.settings.servers import Resolution

_KEY = "inlineTokens"
# Where tools are called by their address, arguments can stand for results.
_BORROWING = "find"
# The second tool of a suite is called so.
_READING = "_read"


class Recall(Struct, frozen=True):
    """That some results are kept. Of how many tokens is in the settings."""


class RecallSource(Source[Recall]):
    """Kept results as the rest of the program sees them. Whoever says nothing has none of it."""

    key = PROVIDER

    def read(self, resolution: Resolution) -> Recall | None:
        tree = resolution.merged.tree
        tables = (tree.get("results", {}), *tree.get("suites", {}).values())
        return Recall() if any(each.get(_KEY) for each in tables) else None

    def specs(self, listing: ListingContext) -> Listed:
        settings = listing.settings
        if not any(_limits(settings, listing.servers).values()):
            return Listed()
        spec = read_spec(is_borrowed=_BORROWING in settings.sources)
        if settings.results.handles == "auto":
            spec = replace(spec, shown_to=_gets_handles)
        return Listed(specs=(spec,))

    def arrange(self, specs: Sequence[ToolSpec], settings: Settings) -> Sequence[ToolSpec]:
        """Ask hosts that keep long results themselves to do so from the same length on."""
        if self.configured(settings) is None or settings.results.handles == "always":
            return specs
        limits = _limits(settings, settings.servers)
        return [_hinted(spec, limits) for spec in specs]

    def reading(self) -> Iterable[str]:
        return (READ_RESULT,)

    def build(self, context: Context) -> Provider:
        # A listing needs nothing of it.
        from switchboard.providers.recall.provider import RecallProvider  # noqa: PLC0415

        return RecallProvider(context.listed[self.key].specs, context.results)


def _limits(settings: Settings, servers: Sequence[ServerEntry]) -> Mapping[str, int]:
    """By the names of suites that clients may see; that of everything else by an empty name."""
    return dict(_limits_of(settings, servers))


def _limits_of(settings: Settings, servers: Sequence[ServerEntry]) -> Iterator[tuple[str, int]]:
    visibility = Visibility(settings.tools.allow, settings.tools.deny)
    yield "", settings.results.inlined()
    for entry in servers:
        own = settings.suites.get(entry.name)
        named = own.suite_name if own is not None else ""
        name = tool_name(named) if named else suite_name(entry.name)
        if entry.expose == "tools" or visibility.shows(name):
            yield name, settings.results.inlined(own)


def _hinted(spec: ToolSpec, limits: Mapping[str, int]) -> ToolSpec:
    tokens = limits.get(spec.name.removesuffix(_READING), limits[""])
    if not tokens or spec.provider == PROVIDER:
        return spec
    return replace(spec, most_letters=letters_left(tokens))


def _gets_handles(session: Session) -> bool:
    return not keeps_results(session)


SOURCE = RecallSource()
