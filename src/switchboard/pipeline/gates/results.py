"""What is too long for a model is kept, and given in part with a handle to the rest."""

from collections.abc import Awaitable
from functools import partial
from typing import Any

import msgspec
from msgspec import Raw
from msgspec.json import encode
from msgspec.structs import replace

from switchboard.core.calls.borrowed import Quoted
from switchboard.core.calls.call import Call, Outcome, TextBlock
from switchboard.core.ports import Next
from switchboard.results.document import Said, said_in
from switchboard.results.excerpt import excerpt
from switchboard.results.inlining import Inlining, Share
from switchboard.results.kept_result import MUCH, KeptResult, packed
from switchboard.results.store import ResultStore

_MOST_META = 16 * 1024
RESULT_KEY = "switchboard/result"
_read_members = msgspec.json.Decoder(dict[str, Raw]).decode


class ResultsGate:
    """Stands on the road only where something has a limit."""

    def __init__(self, inlining: Inlining, store: ResultStore) -> None:
        self._inlining = inlining
        self._store = store

    def __call__(self, call: Call, proceed: Next, /) -> Awaitable[Outcome]:
        share = self._inlining.share_of(call)
        return proceed(call) if share is None else self._fitted(call, proceed, share)

    async def _fitted(self, call: Call, proceed: Next, share: Share) -> Outcome:
        outcome = await proceed(call)
        size = _size(outcome)
        if outcome.task_id or share.surely_holds(size):
            return outcome
        handle = self._store.new_handle(call.session)
        if size > MUCH:
            work = partial(_parted, call, outcome, share, handle)
            parted = await self._store.room.read(call.session.holder, work)
        else:
            parted = _parted(call, outcome, share, handle)
        if parted is None or not self._store.keep(call.session, parted[0]):
            return outcome
        return parted[1]


def _parted(
    call: Call, outcome: Outcome, share: Share, handle: str
) -> tuple[KeptResult, Outcome] | None:
    """What is kept of an outcome, and what the client gets in its place; nothing if it fits."""
    said = said_in(outcome)
    if said is None or _fits(said, outcome, share):
        return None
    launch = call.launch
    assert launch is not None, "it is there wherever there is a share"
    try:
        document = said.document()
    except (msgspec.MsgspecError, RecursionError):
        return None
    whole = encode(document)
    content, is_packed = packed(whole)
    kept = KeptResult(
        handle=handle,
        server=launch.server,
        tool=call.tool.name,
        # Without the running server: it must not live on for what it said.
        quoted=Quoted(replace(launch, judged=None), is_error=outcome.is_error),
        tokens=share.tokens,
        packed=content,
        is_packed=is_packed,
        size=len(whole),
    )
    text = excerpt(document, handle, share, is_error=outcome.is_error)
    return kept, replace(
        outcome,
        raw=None,
        result=None,
        structured=None,
        is_modern=False,
        blocks=(TextBlock(text), *said.others),
        meta={**outcome.meta, **_meta(said.meta), RESULT_KEY: {"handle": handle}},
    )


def _fits(said: Said, outcome: Outcome, share: Share) -> bool:
    """Whether a model may have all of it. Which of the two it reads is up to its host."""
    if outcome.result is not None:
        # What is said twice in it is read twice.
        first = outcome.blocks[0]
        return not isinstance(first, TextBlock) or share.holds(first.text)
    if said.structured is not None and not share.holds(bytes(said.structured).decode()):
        return False
    return share.holds("\n".join(said.texts))


def _size(outcome: Outcome) -> int:
    if outcome.raw is not None:
        return len(memoryview(outcome.raw))
    size = 0 if outcome.structured is None else len(memoryview(outcome.structured))
    texts = (each.text for each in outcome.blocks if isinstance(each, TextBlock))
    # A letter takes up to four bytes.
    return size + sum(len(text) if text.isascii() else 4 * len(text) for text in texts)


def _meta(said: Raw) -> dict[str, Any]:
    """What a server notes beside its result, if it is not long."""
    if len(memoryview(said)) > _MOST_META:
        return {}
    try:
        return dict(_read_members(said))
    except msgspec.MsgspecError:
        return {}
