"""A provider as somebody would add it: this one file, and a line in the table."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from switchboard.config.keys import Field, Section
from switchboard.config.strict import Text
from switchboard.core.calls.call import Call, Outcome, TextBlock
from switchboard.core.calls.launches import Launch
from switchboard.core.catalog.offers import Kind, Offer
from switchboard.core.catalog.tools import Effects, ToolSpec
from switchboard.core.channels.channel import Channel
from switchboard.core.sessions import Session
from switchboard.providers.context import Context
from switchboard.providers.source import Finding, Listed, ListingContext, Source
from switchboard.settings.sections import Settings
from switchboard.settings.servers import Resolution


class Dummy(Struct, frozen=True):
    """What `[dummy]` says."""

    greeting: str = "hello"


SECTION = Section(
    name="dummy",
    fields=(Field(name="greeting", kind=Text(empty=False, about="What is said.")),),
    into=Dummy,
)


class DummyProvider:
    """Greets, and shouts if somebody agrees."""

    key = "dummy"

    def __init__(self, specs: Sequence[ToolSpec], greeting: str) -> None:
        self._specs = specs
        self._greeting = greeting

    def specs(self) -> Sequence[ToolSpec]:
        return self._specs

    async def offers(
        self, kind: Kind, session: Session, channel: Channel | None, wanted: str = ""
    ) -> tuple[Offer, ...]:
        del kind, session, channel, wanted
        return ()

    async def narrow(self, call: Call) -> Call:
        return call

    async def launch(self, call: Call) -> Launch | None:
        if call.tool.effects.read_only:
            return None
        return Launch(
            tool=call.tool,
            server="dummy",
            fingerprint="1",
            runs="a shout",
            cwd="/",
            is_foreign=False,
        )

    async def invoke(self, call: Call) -> Outcome:
        return Outcome(blocks=(TextBlock(f"{self._greeting} from {call.tool.name}"),))

    async def aclose(self) -> None:
        """It holds nothing."""


class DummySource(Source[Dummy]):
    """The plug."""

    key = "dummy"
    section = SECTION

    def read(self, resolution: Resolution) -> Dummy | None:
        return Dummy(**SECTION.read(resolution.merged.tree.get("dummy", {})))

    def specs(self, listing: ListingContext) -> Listed:
        entry = self.configured(listing.settings)
        greeting = entry.greeting if entry is not None else ""
        quiet, loud = Effects(read_only=True), Effects(read_only=False, destructive=True)
        return Listed(
            specs=(
                ToolSpec(name="greet", provider=self.key, description=greeting, effects=quiet),
                ToolSpec(name="shout", provider=self.key, description=greeting, effects=loud),
            )
        )

    def build(self, context: Context) -> DummyProvider:
        entry = self.configured(context.settings)
        listing = ListingContext(context.settings, context.environ, ())
        return DummyProvider(self.specs(listing).specs, entry.greeting if entry else "")

    def findings(self, settings: Settings, environ: Mapping[str, str]) -> Iterable[Finding]:
        del environ
        if self.configured(settings) == Dummy():
            yield Finding(severity="warning", subject="dummy", message="it has no words of its own")


SOURCE = DummySource()
