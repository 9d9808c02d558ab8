"""Reads parts of results that were kept for a session."""

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from switchboard.core.calls.call import Call, Outcome, TextBlock
from switchboard.core.catalog.offers import Kind, Offer
from switchboard.core.catalog.tools import ToolSpec
from switchboard.core.channels.channel import Channel
from switchboard.core.sessions import Session
from switchboard.providers.recall.specs import PROVIDER, read_wanted
from switchboard.results.inlining import Share, share_of
from switchboard.results.kept_result import MUCH, KeptResult
from switchboard.results.reading import Wanted, part_of
from switchboard.results.store import ResultStore


class RecallProvider:
    """Knows nothing but what sessions have kept."""

    key = PROVIDER

    def __init__(self, specs: Sequence[ToolSpec], store: ResultStore) -> None:
        self._specs = tuple(specs)
        self._store = store

    def specs(self) -> Sequence[ToolSpec]:
        return self._specs

    async def offers(
        self, kind: Kind, session: Session, channel: Channel | None, wanted: str = ""
    ) -> tuple[Offer, ...]:
        del kind, session, channel, wanted
        return ()

    async def narrow(self, call: Call) -> Call:
        """The same, with whose words it reads: who judges a session has to know."""
        kept = self._store.find(call.session, read_wanted(call.arguments).handle)
        return replace(call, quotes=kept.quoted)

    def launch(self, call: Call) -> None:
        """Nothing: it runs no code but ours."""
        del call

    async def invoke(self, call: Call) -> Outcome:
        wanted = read_wanted(call.arguments)
        kept = self._store.find(call.session, wanted.handle)
        meta = call.channel.meta if call.channel is not None else b""
        share = share_of(kept.tokens, call.session, meta)
        if kept.size > MUCH:
            work = partial(_read, kept, wanted, share)
            text = await self._store.room.read(call.session.holder, work)
        else:
            text = _read(kept, wanted, share)
        return Outcome(blocks=(TextBlock(text),))

    async def aclose(self) -> None:
        """Nothing: whoever owns the store closes it."""


def _read(kept: KeptResult, wanted: Wanted, share: Share) -> str:
    return part_of(kept.document(), wanted, share)
