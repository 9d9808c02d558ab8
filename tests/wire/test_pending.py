"""Requests that wait for an answer, whoever carries them."""

import asyncio

import pytest
from msgspec import Raw

from switchboard.wire.messages import Envelope, Parts, RpcError
from switchboard.wire.pending import PeerLost, Pending
from switchboard.wire.pipes import Loss


async def begun(pending: Pending, count: int = 1) -> tuple[list[Parts], list["asyncio.Task[Raw]"]]:
    """Ask and let the requests go out."""
    sent: list[Parts] = []
    asking = [asyncio.create_task(pending.ask(sent.append, "m", (b"{}",))) for _ in range(count)]
    await asyncio.sleep(0)
    return sent, asking


async def test_the_next_id_is_known_before_the_request_goes_out() -> None:
    pending = Pending()
    promised = pending.next_id
    sent, [asking] = await begun(pending)
    assert b'"id":%d,' % promised in sent[0][0]
    assert promised in pending
    assert pending.next_id == promised + 1
    pending.take(promised, Envelope(result=Raw(b"7")))
    assert bytes(await asking) == b"7"
    assert promised not in pending


async def test_one_request_can_fail_by_itself() -> None:
    pending = Pending()
    _, (first, second) = await begun(pending, 2)
    pending.fail(1, RpcError(1, "the way is broken"))
    pending.fail(1, RpcError(2, "said too late"))
    pending.take(2, Envelope(result=Raw(b"2")))
    with pytest.raises(RpcError, match="the way is broken"):
        await first
    assert bytes(await second) == b"2"
    assert len(pending) == 0


async def test_each_who_waits_for_a_lost_peer_is_told_with_an_error_of_its_own() -> None:
    pending, loss = Pending(), Loss(message="gone")
    _, asking = await begun(pending, 2)
    pending.lose(loss)
    errors = await asyncio.gather(*asking, return_exceptions=True)
    assert [error.loss for error in errors if isinstance(error, PeerLost)] == [loss, loss]
    assert errors[0] is not errors[1]
    with pytest.raises(PeerLost):
        await pending.ask(lambda _: None, "m", (b"{}",))


async def test_a_request_given_up_behind_its_answer_is_not_cancelled_at_the_other_side() -> None:
    pending = Pending()
    sent, [asking] = await begun(pending)
    pending.take(1, Envelope(result=Raw(b"1")))
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert len(sent) == 1
