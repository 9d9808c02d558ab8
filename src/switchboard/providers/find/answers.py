"""What a search answers: a line for each tool that fits."""

from collections.abc import Sequence

import msgspec

from switchboard.core.catalog.tools import ToolSpec
from switchboard.providers.find.catalogue import KnownTool
from switchboard.search.signature import parameter_docs, signature
from switchboard.search.summaries import summarise

_SUMMARY = 100


def signatures(found: Sequence[KnownTool], *, is_sure: bool) -> str:
    """A signature and a summary of each; what its parameters are for, of one that surely fits."""
    lines: list[str] = []
    for place, each in enumerate(found):
        summary = summarise(each.spec.description, _SUMMARY)
        lines.append(_signature(each) + (f" - {summary}" if summary else ""))
        if place == 0 and is_sure:
            lines += (f"  {line}" for line in parameter_docs(_schema(each.spec)))
    return "\n".join(lines)


def schemas(found: Sequence[KnownTool]) -> str:
    """The whole definition of each, as JSON."""
    return msgspec.json.encode(
        [
            {
                "tool": each.address,
                "description": each.spec.description,
                "inputSchema": each.spec.input_schema,
            }
            for each in found
        ]
    ).decode()


def nothing_found(servers: Sequence[str], unknown: str = "") -> str:
    """That nothing fits, or that there is no such server; and what there is."""
    said = f"No server {unknown!r}." if unknown else "No tool matches."
    return f"{said} Servers: {', '.join(servers) or 'none'}."


def right_way(each: KnownTool) -> str:
    """How a tool is called, for whoever has called it wrongly."""
    return "\n  ".join((_signature(each), *parameter_docs(_schema(each.spec))))


def _signature(each: KnownTool) -> str:
    return signature(each.address, _schema(each.spec))


def _schema(spec: ToolSpec) -> object:
    return msgspec.json.decode(spec.input_schema)
