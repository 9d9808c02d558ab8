"""The plug of finding: a listing of a few tools, by which all others are found and called."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from msgspec import Struct

from switchboard.providers.find.budget import within
from switchboard.providers.find.specs import PROVIDER, find_specs
from switchboard.providers.source import Listed, ListingContext, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from switchboard.core.ports import Directory, Next, Provider
    from switchboard.core.tools import ToolSpec
    from switchboard.providers.context import Context
    from switchboard.settings.sections import Settings
    from switchboard.settings.servers import Resolution

SETTING = "surface_tokens"


class SurfaceBudget(Struct, frozen=True):
    """How many tokens a listing may cost beside the tools that find others."""

    tokens: int


_PRESETS = {"lean": 0, "balanced": 1_500}


class FindSource(Source[SurfaceBudget]):
    """Finding as the rest of the program sees it. Whoever says nothing has none of it."""

    key = PROVIDER

    def read(self, resolution: Resolution) -> SurfaceBudget | None:
        wanted = resolution.merged.tree.get(SETTING)
        if wanted is None or wanted == "direct":
            return None
        return SurfaceBudget(_PRESETS[wanted] if isinstance(wanted, str) else wanted)

    def specs(self, listing: ListingContext) -> Listed:
        del listing
        return Listed(specs=tuple(find_specs()))

    def arrange(self, specs: Sequence[ToolSpec], settings: Settings) -> Sequence[ToolSpec]:
        budget = self.configured(settings)
        return specs if budget is None else within(specs, budget.tokens)

    def build(self, context: Context) -> Provider:
        # It takes the search, and a listing does not.
        from switchboard.providers.find.provider import FindProvider  # noqa: PLC0415

        return FindProvider(
            context.listed[self.key].specs,
            directory=cast("Callable[[], Directory]", context.directory),
            road=cast("Callable[[], Next]", context.road),
        )

    def instructions(self, settings: Settings, tools: Mapping[str, ToolSpec]) -> str:
        del settings, tools
        return (
            " Every tool is found by `find_tool` and called by `call_tool`, also those that are"
            " not listed. Search for one step at a time."
        )


SOURCE = FindSource()
