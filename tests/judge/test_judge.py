"""A whole team under forty clients while its parts are killed, stopped and cut off, in turn."""

import asyncio
import time
from collections.abc import Generator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from judge.director import Director
from judge.inside import inside
from judge.network import Network, network
from judge.stage import Stage, members, raised
from judge.verdict import judged
from support.processes import wait_until_none_mention
from support.workspace import Workspace

SOAK_S = 600.0


@pytest.fixture
def net() -> Generator[Network]:
    with network() as made:
        made.add("clients")
        yield made


@pytest.fixture
def folder() -> Generator[Path]:
    with TemporaryDirectory(prefix="sb-", ignore_cleanup_errors=True) as made:
        yield Path(made)
        wait_until_none_mention(made)


# It takes less than a minute on a machine with nothing else to do.
@pytest.mark.timeout(400)
def test_nothing_is_lost_and_nothing_done_twice_whichever_part_is_killed(
    net: Network, folder: Path
) -> None:
    judge(net, folder, lease_s=6.0)


@pytest.mark.soak
@pytest.mark.timeout(1_500)
def test_nothing_is_lost_and_nothing_done_twice_for_ten_minutes(net: Network, folder: Path) -> None:
    judge(net, folder, lease_s=6.0, soak_s=SOAK_S)


def judge(net: Network, folder: Path, *, lease_s: float, soak_s: float = 0.0) -> None:
    async def work() -> None:
        stage = Stage(net, Workspace(folder), folder, lease_s)
        began = time.monotonic()
        async with raised(stage):
            lives = [
                asyncio.ensure_future(member.live(kinds, rest_s, stage.stop))
                for member, kinds, rest_s in members(stage)
            ]
            director = Director(stage)
            try:
                await director.go_on()
                for trouble in director.whole if soak_s else director.short:
                    await trouble()
                while time.monotonic() - began < soak_s:
                    for trouble in director.whole:
                        await trouble()
            finally:
                stage.stop.set()
                await asyncio.gather(*lives, return_exceptions=True)
            for life in lives:
                life.result()
            await judged(stage)

    inside(net, "clients", work)
