"""Who waits for a run, and who hears that somebody does."""

import asyncio
from pathlib import Path

from agents.ground import board
from support.processes import until_true
from switchboard.providers.agents.calls.waiters import Waiters


async def test_everybody_hears_of_who_waits_and_nobody_is_remembered_who_left(
    home: Path,
) -> None:
    waiters = Waiters()
    kept = vars(waiters)["_news"]
    async with board(home) as desk:
        call = desk.a_call("run_wait", {"run_id": "r-1"})
    hearing = [asyncio.ensure_future(waiters.changed("r-1")) for _ in range(3)]
    await until_true(lambda: len(kept.get("r-1", ())) == 3)
    hearing[0].cancel()
    await asyncio.wait((hearing[0],))
    waiters.add("r-1", call)
    await asyncio.gather(*hearing[1:])
    leaving = asyncio.ensure_future(waiters.changed("r-1"))
    await until_true(lambda: "r-1" in kept)
    leaving.cancel()
    await asyncio.wait((leaving,))
    assert not kept
