"""What a client asks of a child that is no call of a tool, with the child's own names put back."""

from collections.abc import Iterable
from typing import Any, Protocol

import msgspec
from msgspec import Raw, Struct
from msgspec.json import encode

from switchboard.children.connection import Limits
from switchboard.children.results import malformed_result
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.tools import Effects, Policy, ToolSpec
from switchboard.providers.relay.routes import Routes
from switchboard.providers.relay.shelf import Place
from switchboard.providers.relay.toolbox import PROVIDER, unchecked


def specs_for(every: Iterable[Limits]) -> dict[str, ToolSpec]:
    """What passes the gates, by method. Which child is meant shows later: the slowest may be."""
    limits = tuple(every)
    policy = Policy(
        timeout_s=max((each.rpc_s for each in limits), default=None),
        longest_s=max((each.longest_s for each in limits), default=None),
    )
    return {
        method: ToolSpec(
            name=method,
            provider=PROVIDER,
            effects=Effects(read_only=True, destructive=False),
            policy=policy,
            check=unchecked,
            is_tool=False,
        )
        for method in _SHAPES
    }


class Request(Protocol):
    """One request on its way to a child."""

    async def place(self, routes: Routes) -> Place:
        """Which child it is for."""
        ...

    def params(self, place: Place) -> "tuple[bytes | Raw, ...]":
        """Its parameters in the child's own names, without the closing brace."""
        ...

    def result(self, place: Place, raw: Raw) -> Raw:
        """The child's answer in the names that the client knows."""
        ...


class _Read(Struct, frozen=True):
    uri: str

    async def place(self, routes: Routes) -> Place:
        return await routes.resource(self.uri)

    def params(self, place: Place) -> "tuple[bytes | Raw, ...]":
        return (b'{"uri":%b' % encode(place.own),)

    def result(self, place: Place, raw: Raw) -> Raw:
        if place.own == self.uri:
            return raw
        try:
            body = msgspec.json.decode(raw, type=dict[str, Any])
            contents: list[dict[str, Any]] = [
                {**each, "uri": self.uri} if each.get("uri") == place.own else each
                for each in body["contents"]
            ]
        except (msgspec.MsgspecError, KeyError, TypeError, AttributeError) as error:
            raise malformed_result(error) from None
        return Raw(encode({**body, "contents": contents}))


class _Get(Struct, frozen=True):
    name: str
    arguments: Raw = Raw(b"{}")

    async def place(self, routes: Routes) -> Place:
        return await routes.prompt(self.name)

    def params(self, place: Place) -> "tuple[bytes | Raw, ...]":
        return (b'{"name":%b,"arguments":' % encode(place.own), self.arguments)

    def result(self, place: Place, raw: Raw) -> Raw:
        del place
        return raw


class _PromptRef(Struct, frozen=True, tag="ref/prompt"):
    name: str


class _ResourceRef(Struct, frozen=True, tag="ref/resource"):
    uri: str


class _Complete(Struct, frozen=True):
    ref: _PromptRef | _ResourceRef
    argument: Raw
    context: Raw = Raw(b"")

    async def place(self, routes: Routes) -> Place:
        if isinstance(self.ref, _PromptRef):
            return await routes.prompt(self.ref.name)
        return await routes.template(self.ref.uri)

    def params(self, place: Place) -> "tuple[bytes | Raw, ...]":
        own = _PromptRef(place.own) if isinstance(self.ref, _PromptRef) else _ResourceRef(place.own)
        context = b',"context":%b' % bytes(self.context) if self.context else b""
        return (b'{"ref":%b,"argument":' % encode(own), self.argument, context)

    def result(self, place: Place, raw: Raw) -> Raw:
        del place
        return raw


_SHAPES: dict[str, Any] = {
    "resources/read": _Read,
    "prompts/get": _Get,
    "completion/complete": _Complete,
}


def read_request(method: str, params: Raw) -> Request:
    """The request, or an `invalid_argument` fault."""
    try:
        return msgspec.json.decode(params, type=_SHAPES[method])
    except msgspec.MsgspecError as error:
        raise Fault(FaultCode.INVALID_ARGUMENT, "params-invalid", str(error)) from None
