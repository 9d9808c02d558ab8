"""The yard's resources and prompts beside those of children. Its names are its own."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec
from msgspec import Raw, Struct
from msgspec.json import encode

from switchboard.core.calls import Call, Outcome
from switchboard.core.channel import Channel
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.launches import Launch
from switchboard.core.ports import Provider, Relay, ShownTool
from switchboard.core.sessions import Session
from switchboard.core.tools import ToolSpec
from switchboard.providers.yard.provider import YardProvider
from switchyard.api.catalogue import RESOURCES
from switchyard.api.texts import PROMPTS, prompt

_OWN: dict[str, dict[str, Raw]] = {
    "resources": {each["uri"]: Raw(encode(each)) for each in RESOURCES},
    "prompts": {each["name"]: Raw(encode(each)) for each in PROMPTS},
}
_KEYS = {"resources": "uri", "prompts": "name"}
_NO_COMPLETION = Raw(b'{"completion":{"values":[],"total":0,"hasMore":false}}')


class ChildRelay(Relay, Provider, Protocol):
    """What children offer, with its way along the road."""


class _Named(Struct, frozen=True):
    name: str = ""
    uri: str = ""


class _Params(Struct, frozen=True):
    name: str = ""
    uri: str = ""
    arguments: Raw = Raw(b"{}")
    ref: _Named = _Named()


class YardRelay:
    """Answers for the yard, and passes everything else on."""

    def __init__(self, yard: YardProvider, children: ChildRelay) -> None:
        self._yard = yard
        self._children = children

    @property
    def key(self) -> str:
        return self._children.key

    # The port of the surface

    async def tools(self, session: Session, channel: Channel | None) -> Mapping[str, ShownTool]:
        return await self._children.tools(session, channel)

    async def tool(self, name: str, session: Session, channel: Channel | None) -> ToolSpec | None:
        return await self._children.tool(name, session, channel)

    async def entries(self, kind: str, session: Session, channel: Channel | None) -> Sequence[Raw]:
        theirs = await self._children.entries(kind, session, channel)
        own = _OWN.get(kind)
        if own is None:
            return theirs
        # A child of the same name is still reached by the address that names the child.
        others = [each for each in theirs if _shown_as(kind, each) not in own]
        return [*own.values(), *others]

    def spec(self, method: str) -> ToolSpec | None:
        return self._children.spec(method)

    async def follow(
        self, uri: str, session: Session, tell: Callable[[str], None]
    ) -> Callable[[], None]:
        if uri in _OWN["resources"]:
            raise Fault(
                FaultCode.UNIMPLEMENTED,
                "resource-not-followed",
                f"`{uri}` is computed when it is read, and nobody is told of changes",
                hint="read it again",
            )
        return await self._children.follow(uri, session, tell)

    def pass_on(self, method: str, session: Session) -> None:
        self._children.pass_on(method, session)

    # The port of the road

    def specs(self) -> Sequence[ToolSpec]:
        return self._children.specs()

    async def narrow(self, call: Call) -> Call:
        return await self._children.narrow(call)

    async def launch(self, call: Call) -> Launch | None:
        return await self._children.launch(call)

    async def invoke(self, call: Call) -> Outcome:
        if not call.tool.is_tool:
            asked = _params(call.arguments)
            match call.tool.name:
                case "resources/read" if asked.uri in _OWN["resources"]:
                    return await self._yard.read(call, asked.uri)
                case "prompts/get" if asked.name in _OWN["prompts"]:
                    return Outcome(raw=_prompt(asked))
                case "completion/complete" if asked.ref.name in _OWN["prompts"]:
                    return Outcome(raw=_NO_COMPLETION)
                case _:
                    pass
        return await self._children.invoke(call)

    async def aclose(self) -> None:
        await self._children.aclose()


def _params(raw: Raw) -> _Params:
    try:
        return msgspec.json.decode(raw, type=_Params)
    except msgspec.MsgspecError as error:
        raise Fault(FaultCode.INVALID_ARGUMENT, "params-invalid", str(error)) from None


def _prompt(asked: _Params) -> Raw:
    try:
        given = msgspec.json.decode(asked.arguments, type=dict[str, Any] | None)
        return Raw(json.dumps(prompt(asked.name, given or {})).encode())
    except (msgspec.MsgspecError, ValueError) as wrong:
        raise Fault(FaultCode.INVALID_ARGUMENT, "params-invalid", str(wrong)) from None


def _shown_as(kind: str, entry: Raw) -> str:
    return getattr(msgspec.json.decode(entry, type=_Named), _KEYS[kind])
