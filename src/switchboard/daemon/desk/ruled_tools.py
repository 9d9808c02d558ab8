"""What a name of `[approvals] allow` means for the tools that a server has now."""

from collections.abc import Sequence

import msgspec
from msgspec import UNSET

from switchboard.approvals.lasting.allowed_names import AllowedName
from switchboard.approvals.lasting.ruled_tool import RuledTool
from switchboard.children.listings.listing import Annotations
from switchboard.children.schema import ServerEntry
from switchboard.children.server_launches import ServerLaunches
from switchboard.control.tools import Subtool
from switchboard.core.catalog.tools import Effects, ToolSpec

_read_annotations = msgspec.json.Decoder(Annotations).decode


def ruled_tools(
    name: AllowedName, entry: ServerEntry, tools: Sequence[Subtool]
) -> tuple[RuledTool, ...]:
    """Those of a server that a name means, in the order of the server."""
    launches = ServerLaunches(entry, "")
    return tuple(
        RuledTool.of(launches[_spec(tool)]) for tool in tools if name.covers(entry.name, tool.name)
    )


def _spec(tool: Subtool) -> ToolSpec:
    told = tool.annotations
    return ToolSpec(
        name=tool.name,
        provider="",
        description=tool.summary,
        title=tool.title or "",
        input_schema=tool.input_schema,
        effects=Effects() if told is UNSET else _read_annotations(told).effects,
    )
