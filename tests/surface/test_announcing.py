"""Changes of the listing are announced in the way of each era."""

import asyncio

import pytest

from fakes.endpoints import Visitor
from support.mcp_stdio import META

CHANGED = "notifications/tools/list_changed"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
SUBSCRIPTION = META + "subscriptionId"


async def test_after_a_handshake_every_change_is_announced_and_before_it_none() -> None:
    visitor = Visitor()
    visitor.endpoint.changed("tools")
    assert visitor.told == []
    await visitor.shake_hands()
    visitor.endpoint.changed("tools")
    assert visitor.told == [(CHANGED, {})]


async def test_a_modern_client_hears_of_changes_only_while_it_listens() -> None:
    visitor = Visitor()
    visitor.be_modern()
    await visitor.ask("tools/list")
    visitor.endpoint.changed("tools")
    assert visitor.told == []
    wanted = {"notifications": {"toolsListChanged": True}}
    listening = asyncio.ensure_future(visitor.begin("subscriptions/listen", wanted, 7))
    await asyncio.sleep(0)
    [(method, params)] = visitor.told
    assert method == ACKNOWLEDGED
    assert params["notifications"] == {"toolsListChanged": True}
    assert params["_meta"] == {SUBSCRIPTION: 7}
    visitor.endpoint.changed("tools")
    assert visitor.told[1:] == [(CHANGED, {"_meta": {SUBSCRIPTION: 7}})]
    listening.cancel()
    await asyncio.wait({listening})
    visitor.endpoint.changed("tools")
    assert len(visitor.told) == 2


async def test_only_what_was_asked_for_and_is_offered_is_acknowledged() -> None:
    visitor = Visitor()
    visitor.be_modern()
    wanted = {"notifications": {"promptsListChanged": True}}
    listening = asyncio.ensure_future(visitor.begin("subscriptions/listen", wanted, 7))
    await asyncio.sleep(0)
    [(_, params)] = visitor.told
    assert params["notifications"] == {}
    visitor.endpoint.changed("tools")
    assert len(visitor.told) == 1
    listening.cancel()
    await asyncio.wait({listening})


@pytest.mark.parametrize("params", [{}, {"notifications": 7}])
async def test_a_subscription_that_makes_no_sense_is_refused(params: dict[str, object]) -> None:
    visitor = Visitor()
    visitor.be_modern()
    assert (await visitor.refusal("subscriptions/listen", params)).code == -32602
    assert visitor.told == []


async def test_listening_is_not_offered_to_a_client_that_shook_hands() -> None:
    visitor = Visitor()
    await visitor.shake_hands()
    assert (await visitor.refusal("subscriptions/listen", {"notifications": {}})).code == -32601
