"""What somebody who waits for servers is told while they start: which, how far, and how long."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager

from switchboard.children.child import Child
from switchboard.control.api import Hear
from switchboard.core.calls.call_steps import CallStep
from switchboard.core.loop.tasks import TaskSet

# A server that is there sooner needs no words.
_LOOK_S = 0.5
_MOST_NAMED = 2


@asynccontextmanager
async def telling_starts(
    children: Callable[[], Iterable[Child]], hear: Hear | None
) -> AsyncGenerator[None]:
    """Tell of starts that are under way, for as long as the block lasts."""
    if hear is None:
        yield
        return
    async with TaskSet() as tasks:
        tasks.start(_tell(children, hear))
        yield


async def _tell(children: Callable[[], Iterable[Child]], hear: Hear) -> None:
    was_told = False
    while True:
        await asyncio.sleep(_LOOK_S)
        found = [words for child in children() if (words := child.connection.stage.words())]
        if found:
            hear(_step(found))
        elif was_told:
            hear(CallStep(run_id="", text="waiting for the answer …", is_passing=True))
        was_told = bool(found)


def _step(found: list[tuple[str, float]]) -> CallStep:
    texts = [text for text, _ in found[:_MOST_NAMED]]
    if len(found) > _MOST_NAMED:
        texts.append(f"and {len(found) - _MOST_NAMED} more")
    ending = f", {max(seconds for _, seconds in found):.0f} s"
    return CallStep(run_id="", text=", ".join(texts) + ending, is_passing=True, ending=ending)
