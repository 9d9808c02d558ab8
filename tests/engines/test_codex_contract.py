"""The real Codex keeps the contract of engines."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import cast

from engines.codex_stage import CodexStage, playing
from engines.contract import EngineContract, Stage
from fakes.engines import Scene
from support.processes import until_true


class TestCodex(EngineContract):
    def stage(self, folder: Path, *scenes: Scene) -> AbstractAsyncContextManager[CodexStage]:
        return playing(folder, *scenes)

    async def until_it_hangs(self, stage: Stage) -> None:
        model = cast("CodexStage", stage).model
        await until_true(lambda: bool(model.requests))
