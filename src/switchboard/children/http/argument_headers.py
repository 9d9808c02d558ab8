"""Arguments that a server of the modern era wants to see in headers too.

A call that leaves such a header out is refused.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from switchboard.wire.param_headers import MARK, Mark, marks, rendered

NO_HEADERS: Mapping[str, str] = {}


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


class ArgumentHeaders:
    """Which arguments of which tools are repeated in which headers."""

    def __init__(self) -> None:
        self._by_tool: dict[str, list[Mark]] = {}

    def learn(self, listing: bytes) -> None:
        """Take the marks of a page of `tools/list`, if it has any."""
        if MARK not in listing:
            return
        try:
            page = msgspec.json.decode(listing, type=_Listing).result
        except (msgspec.MsgspecError, RecursionError):
            return
        for tool in page.tools if page is not None else ():
            self._by_tool[tool.name] = list(marks(tool.input_schema))

    def knows(self, tool: str) -> bool:
        """Whether the tool was listed with marks."""
        return tool in self._by_tool

    def headers(self, tool: str, call: bytes) -> dict[str, str]:
        """The headers of a call."""
        repeated = self._by_tool.get(tool)
        if not repeated:
            return {}
        arguments = msgspec.json.decode(call, type=_Call).params.arguments
        found = ((mark.header, rendered(mark.value_in(arguments))) for mark in repeated)
        return {header: text for header, text in found if text is not None}
