"""Tasks where no call is answered later, and the headers of requests about them."""

import json
from typing import Any

import pytest
from msgspec import Raw

from fakes.endpoints import Visitor
from support.mcp_stdio import META, Json, modern_meta
from switchboard.surface.http.exchange import Exchange
from switchboard.surface.http.modern import check_headers
from switchboard.wire.messages import Envelope, RpcError

METHODS = ["tasks/get", "tasks/update", "tasks/cancel"]


async def test_a_board_without_agents_does_not_tell_of_tasks() -> None:
    visitor = Visitor()
    visitor.be_modern()
    assert "extensions" not in (await visitor.ask("server/discover"))["capabilities"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("modern", [True, False])
async def test_a_board_without_agents_does_not_offer_tasks(method: str, modern: bool) -> None:
    visitor = Visitor()
    if modern:
        visitor.be_modern()
        assert visitor.meta is not None
        declared: Json = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
        visitor.meta[META + "clientCapabilities"] = declared
    else:
        await visitor.shake_hands()
    assert (await visitor.refusal(method, {"taskId": "r-1"})).code == -32601


@pytest.mark.parametrize("method", METHODS)
def test_the_header_has_to_name_the_task(method: str) -> None:
    check_headers(_exchange(method, "r-1"), _message(method))
    for wrong in ("r-2", None):
        with pytest.raises(RpcError, match="taskId") as caught:
            check_headers(_exchange(method, wrong), _message(method))
        assert caught.value.code == -32020


def _message(method: str) -> Envelope:
    params = json.dumps({"taskId": "r-1", "_meta": modern_meta()}).encode()
    return Envelope(id=1, method=method, params=Raw(params))


def _exchange(method: str, name: str | None) -> Exchange:
    headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": method}
    if name is not None:
        headers["mcp-name"] = name
    scope = {
        "method": "POST",
        "path": "/mcp",
        "headers": [(key.encode(), value.encode()) for key, value in headers.items()],
    }

    async def nothing(*_: Any) -> Any:
        """Nobody is there."""

    return Exchange(scope, nothing, nothing)
