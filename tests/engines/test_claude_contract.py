"""Both Claude Codes that the tests know keep the contract of engines."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path

from engines.claude_stage import NEW, OLD, ClaudeStage, playing
from engines.contract import EngineContract, Stage
from fakes.engines import Scene
from support.processes import until_true


class _OfClaude(EngineContract):
    package = NEW

    def stage(self, folder: Path, *scenes: Scene) -> AbstractAsyncContextManager[Stage]:
        return playing(folder, self.package, *scenes)

    async def until_it_hangs(self, stage: Stage) -> None:
        assert isinstance(stage, ClaudeStage)
        await until_true(lambda: bool(stage.model.requests))


class TestClaude(_OfClaude):
    """The newest."""


class TestOldClaude(_OfClaude):
    """The one before it."""

    package = OLD
