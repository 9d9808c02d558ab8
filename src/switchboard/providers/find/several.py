"""Several calls that a client makes with one request: each runs by itself, on the road of all."""

import asyncio
from collections.abc import Awaitable, Iterator, Sequence

import msgspec
from msgspec import Raw, Struct
from msgspec.json import encode
from msgspec.structs import replace

from switchboard.core.calls.call import Block, Call, Outcome, TextBlock, WireBlock
from switchboard.core.calls.part_clock import PartClock
from switchboard.core.channels.part_channel import PartChannel
from switchboard.core.faults import Fault
from switchboard.core.ports import Next
from switchboard.providers.find.arguments import WantedCall

_NOTHING = Raw(b"null")


class _Result(Struct, rename="camel"):
    """A result as a child wrote it."""

    content: list[Raw] = []
    # Not `Raw | None`: msgspec reads only `null` into that.
    structured_content: Raw = _NOTHING
    is_error: bool = False


_read_result = msgspec.json.Decoder(_Result).decode


async def run_all(call: Call, wanted: Sequence[WantedCall], road: Next) -> Outcome:
    """The outcomes in the order of the calls. One that fails ends no other."""
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(_ended(each.tool, road(_part(call, each, number))))
            for number, each in enumerate(wanted, 1)
        ]
    parts = [task.result() for task in tasks]
    return Outcome(
        blocks=tuple(block for _, blocks in parts for block in blocks),
        is_error=all(has_failed for has_failed, _ in parts),
    )


def _part(call: Call, wanted: WantedCall, number: int) -> Call:
    clock = PartClock(whole=call.clock)
    return replace(
        call,
        id=f"{call.id}.{number}",
        arguments=Raw(encode({"tool": wanted.tool, "args": wanted.args})),
        clock=clock,
        channel=None if call.channel is None else PartChannel(call.channel, clock),
        takes_tasks=False,
        is_bundle=False,
    )


async def _ended(tool: str, running: Awaitable[Outcome]) -> tuple[bool, list[Block]]:
    try:
        outcome = await running
    except Fault as fault:
        return True, [TextBlock(f"{tool}: {_told(fault)}")]
    has_failed, blocks = _blocks(outcome)
    if outcome.on_delivered is not None:
        # It is part of an answer, and reaches the client with it.
        outcome.on_delivered()
    return has_failed, [TextBlock(f"{tool}{' failed' if has_failed else ''}:"), *blocks]


def _told(fault: Fault) -> str:
    text = f"{fault.code}: {fault.message}" + (f" ({fault.hint})" if fault.hint else "")
    details = (f"\n{name}: {value}" for name, value in fault.details.items())
    return text + "".join(details)


def _blocks(outcome: Outcome) -> tuple[bool, list[Block]]:
    if outcome.raw is None:
        return outcome.is_error, list(_with_structure(outcome.blocks, outcome.structured))
    result = _read_result(outcome.raw)
    blocks = tuple(WireBlock(each) for each in result.content)
    structured = None if result.structured_content == _NOTHING else result.structured_content
    return result.is_error, list(_with_structure(blocks, structured))


def _with_structure(blocks: Sequence[Block], structured: Raw | None) -> Iterator[Block]:
    """The blocks; what only programs are told otherwise, where there is nothing else to read."""
    yield from blocks
    if not blocks and structured is not None:
        yield TextBlock(bytes(structured).decode())
