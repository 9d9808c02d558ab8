"""The tools of the yard as the catalog needs them: plain data, and nothing of what runs them."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw
from msgspec.json import encode

from switchboard.core.catalog.tools import ArgumentsCheck, Effects, Policy, ToolSpec
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.origins import Origin, Scope
from switchboard.providers.yard.schema import FILE_NAME, YardEntry
from switchyard.api.catalogue import TOOLS, Tool
from switchyard.api.schemas import mistake
from switchyard.api.texts import INSTRUCTIONS

PROVIDER = "yard"
WORDS = INSTRUCTIONS


def yard_specs(entry: YardEntry, *, read_s: float, change_s: float) -> Sequence[ToolSpec]:
    """Every tool. What only reads has the one limit, what takes long the other."""
    origin = Origin(scope=Scope.WORKSPACE, path=f"{entry.root.rstrip('/')}/{FILE_NAME}")
    return tuple(
        ToolSpec(
            name=tool.name,
            provider=PROVIDER,
            title=tool.title,
            description=tool.description,
            input_schema=Raw(encode(tool.input)),
            output_schema=Raw(encode(tool.output)),
            effects=Effects(
                read_only=tool.read_only,
                destructive=tool.destructive,
                idempotent=tool.idempotent,
                open_world=tool.open_world,
            ),
            policy=Policy(timeout_s=change_s if tool.is_slow else read_s),
            origin=origin,
            check=_check_of(tool),
            can_wait=True,
            search_hint=tool.search_hint,
        )
        for tool in TOOLS.values()
    )


def _check_of(tool: Tool) -> ArgumentsCheck:
    """The yard's own check: the same words as from its own server, and no library for schemas."""

    def check(arguments: Raw) -> None:
        try:
            given = msgspec.json.decode(arguments, type=dict[str, Any])
        except msgspec.MsgspecError as error:
            wrong = str(error)
        else:
            wrong = mistake(given, tool.input)
        if wrong:
            raise Fault(FaultCode.INVALID_ARGUMENT, "arguments-invalid", f"{tool.name}: {wrong}")

    return check
