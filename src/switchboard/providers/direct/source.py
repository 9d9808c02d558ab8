"""The plug of direct exposure: what servers offer, under their own names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from switchboard.core.offers import CONTENTS
from switchboard.core.visibility import Visibility
from switchboard.providers.source import Listed, ListingContext, Source

if TYPE_CHECKING:
    from switchboard.children.schema import ServerEntry
    from switchboard.core.ports import Provider
    from switchboard.providers.context import Context


class DirectSource(Source[Struct]):
    """Direct exposure as the rest of the program sees it."""

    key = "direct"

    def specs(self, listing: ListingContext) -> Listed:
        """No tool is known before its server runs."""
        kinds = CONTENTS if listing.servers else frozenset[str]()
        if any(entry.expose == "tools" for entry in listing.servers):
            kinds |= {"tools"}
        return Listed(offers=kinds)

    def build(self, context: Context) -> Provider:
        # It takes what talks to children, and a listing of suites does not.
        from switchboard.children.server_launches import ServerLaunches  # noqa: PLC0415
        from switchboard.providers.direct.exposure import DirectExposure  # noqa: PLC0415
        from switchboard.providers.direct.provider import DirectProvider  # noqa: PLC0415

        def exposure(entry: ServerEntry) -> DirectExposure:
            suite = context.settings.suites.get(entry.name)
            subtools = Visibility(suite.allow, suite.deny) if suite else Visibility()
            return DirectExposure(
                name=entry.name,
                children=context.children[entry.name],
                launches=ServerLaunches(entry, context.children[entry.name].cwd),
                origin=entry.origin,
                shows_tools=entry.expose == "tools",
                prefix=entry.tool_prefix,
                subtools=subtools,
                relays=entry.relay,
            )

        return DirectProvider(
            map(exposure, context.servers),
            announce=context.announce,
            is_guarded=context.settings.is_guarded,
            held=context.held,
            visibility=context.visibility,
        )


SOURCE = DirectSource()
