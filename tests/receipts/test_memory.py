"""An answer that its client has is held no longer, whatever the form that a suite gave it."""

from pathlib import Path

import pytest
from msgspec import Raw

from fakes.calls import a_call
from switchboard.core.calls.call import Outcome, TextBlock
from switchboard.core.calls.receipts import Receipt
from switchboard.receipts.book import CallBook
from switchboard.receipts.identity import place_of

LONG = "x" * 300_000
OUTCOMES = {
    "passthrough": Outcome(raw=Raw(LONG.encode())),
    "json": Outcome(blocks=(TextBlock(LONG),), result=Raw(LONG.encode())),
}


class Read:
    """The way to a client that has read everything."""

    taken = 1
    is_over = False

    def look(self) -> int:
        return self.taken


@pytest.mark.parametrize("mode", OUTCOMES)
async def test_a_long_answer_is_let_go_as_soon_as_the_client_has_it(
    mode: str, tmp_path: Path
) -> None:
    book = CallBook(str(tmp_path), lambda _: b"")
    call = a_call()
    receipt = Receipt(call.id, call.session, call.tool, None, call.clock, 0.0, book=book, call=call)
    book.note(receipt, place_of(call))
    receipt.outcome = OUTCOMES[mode]
    book.sent(receipt, Read(), 1)
    assert receipt.outcome is None
    await book.aclose()
