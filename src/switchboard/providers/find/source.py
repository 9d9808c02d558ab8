"""The plug of finding: a listing of a few tools, by which all others are found and called."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from msgspec import Struct

from switchboard.children.listings.kept_words import kept_words
from switchboard.providers.find.specs import PROVIDER, find_specs
from switchboard.providers.find.surface import Surface
from switchboard.providers.source import Listed, ListingContext, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from switchboard.core.catalog.tools import ToolSpec
    from switchboard.core.ports import Directory, Next, Provider
    from switchboard.providers.context import Context
    from switchboard.settings.sections import Settings
    from switchboard.settings.servers import Resolution

SETTING = "surface_tokens"


class SurfaceBudget(Struct, frozen=True):
    """How many tokens a listing may cost beside the tools that find others."""

    tokens: int


_PRESETS = {"lean": 0, "balanced": 1_000}


class FindSource(Source[SurfaceBudget]):
    """Finding as the rest of the program sees it. Whoever says nothing has none of it."""

    key = PROVIDER

    def read(self, resolution: Resolution) -> SurfaceBudget | None:
        wanted = resolution.merged.tree.get(SETTING)
        if wanted is None or wanted == "direct":
            return None
        return SurfaceBudget(_PRESETS[wanted] if isinstance(wanted, str) else wanted)

    def presets(self) -> Mapping[str, SurfaceBudget]:
        return {name: SurfaceBudget(tokens) for name, tokens in _PRESETS.items()}

    def specs(self, listing: ListingContext) -> Listed:
        del listing
        return Listed(specs=tuple(find_specs()))

    def arrange(self, specs: Sequence[ToolSpec], settings: Settings) -> Sequence[ToolSpec]:
        budget = self.configured(settings)
        if budget is None:
            return specs
        return Surface(specs, budget.tokens, kept_words(settings.home)).arranged(specs)

    def reading(self) -> Iterable[str]:
        return (spec.name for spec in find_specs() if spec.effects.only_reads)

    def build(self, context: Context) -> Provider:
        # It takes the search, and a listing does not.
        from switchboard.providers.find.provider import FindProvider  # noqa: PLC0415
        from switchboard.providers.find.ranking import Ranking  # noqa: PLC0415
        from switchboard.providers.find.unheard import unheard_of  # noqa: PLC0415

        kept = kept_words(context.settings.home)
        return FindProvider(
            context.listed[self.key].specs,
            ranking=Ranking(context.used_tools, kept),
            directory=cast("Callable[[], Directory]", context.directory),
            unheard=unheard_of(context),
            road=cast("Callable[[], Next]", context.road),
            results=None if context.kept_results is None else context.results,
        )

    def instructions(self, settings: Settings, tools: Mapping[str, ToolSpec]) -> str:
        del settings, tools
        return (
            " Every tool is found by `find_tool` and called by `call_tool`, also those that are"
            " not listed; what their descriptions know already needs no search. Search for one"
            " step at a time."
        )


SOURCE = FindSource()
