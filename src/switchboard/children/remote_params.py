"""Arguments that a server of the modern era wants to see in headers too.

A tool's schema marks such a property with `x-mcp-header`, so that what stands in front of the
server can route a call without opening it. A call that leaves the header out is refused.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

import msgspec
from msgspec import Struct

from switchboard.wire.http_headers import header_value

MARK = b'"x-mcp-header"'

_PREFIX = "mcp-param-"
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")

NO_HEADERS: Mapping[str, str] = {}

_Path = tuple[str, ...]


class _Tool(Struct):
    name: str = ""
    input_schema: Any = msgspec.field(name="inputSchema", default=None)


class _Page(Struct):
    tools: list[_Tool] = []


class _Listing(Struct):
    result: _Page | None = None


class _Params(Struct):
    arguments: Any = None


class _Call(Struct):
    params: _Params


class ParamHeaders:
    """Which arguments of which tools are repeated in which headers."""

    def __init__(self) -> None:
        self._by_tool: dict[str, list[tuple[_Path, str]]] = {}

    def learn(self, listing: bytes) -> None:
        """Take the marks of a page of `tools/list`, if it has any."""
        if MARK not in listing:
            return
        try:
            page = msgspec.json.decode(listing, type=_Listing).result
        except (msgspec.MsgspecError, RecursionError):
            return
        for tool in page.tools if page is not None else ():
            self._by_tool[tool.name] = list(_marks(tool.input_schema, ()))

    def knows(self, tool: str) -> bool:
        """Whether the tool was listed with marks."""
        return tool in self._by_tool

    def headers(self, tool: str, call: bytes) -> dict[str, str]:
        """The headers of a call."""
        marks = self._by_tool.get(tool)
        if not marks:
            return {}
        arguments = msgspec.json.decode(call, type=_Call).params.arguments
        found = ((token, _rendered(_at(arguments, path))) for path, token in marks)
        return {f"{_PREFIX}{token.lower()}": text for token, text in found if text is not None}


def _marks(schema: Any, path: _Path) -> Iterator[tuple[_Path, str]]:
    """Marks are looked for along `properties` only; elsewhere they mean nothing."""
    if not isinstance(schema, dict):
        return
    properties: Any = cast("dict[str, Any]", schema).get("properties")
    if not isinstance(properties, dict):
        return
    for name, inner in cast("dict[str, Any]", properties).items():
        if isinstance(inner, dict):
            token: Any = cast("dict[str, Any]", inner).get("x-mcp-header")
            if isinstance(token, str) and _TOKEN.fullmatch(token):
                yield (*path, name), token
            yield from _marks(inner, (*path, name))


def _at(arguments: Any, path: _Path) -> Any:
    value = arguments
    for name in path:
        if not isinstance(value, dict):
            return None
        value = cast("dict[str, Any]", value).get(name)
    return value


def _rendered(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return header_value(str(value)) if isinstance(value, str | int | float) else None
