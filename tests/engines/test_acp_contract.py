"""opencode, over ACP, keeps the contract of engines."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from engines.contract import EngineContract, Stage
from engines.opencode_stage import OpencodeStage, playing
from fakes.engines import Scene
from support.processes import until_true

# Two starts of a program that takes half a minute on a busy machine.
pytestmark = pytest.mark.timeout(300)


class TestOpencode(EngineContract):
    def stage(self, folder: Path, *scenes: Scene) -> AbstractAsyncContextManager[Stage]:
        return playing(folder, *scenes)

    async def until_it_hangs(self, stage: Stage) -> None:
        assert isinstance(stage, OpencodeStage)
        await until_true(lambda: any(r.body.get("tools") for r in stage.model.requests))
