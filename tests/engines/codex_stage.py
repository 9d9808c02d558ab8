"""The real Codex on a stage: its model plays scenes on loopback."""

import os
import signal
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fakes.engines import Fails, Hangs, Runs, Says, Scene
from support.hosts import codex_program, codex_settings
from support.models.loopback import ScriptedModel
from support.models.responses import refusal, responses_model
from support.models.script import Hang, Step, say, shell, stumble
from support.processes import program_below, wait_until_none_mention
from switchboard.engines.codex.engine import CodexEngine
from switchboard.engines.codex.spare import Spares
from switchboard.engines.codex.template import HomeTemplates
from switchboard.engines.engine import EngineConversation
from switchboard.engines.profile import AgentProfile, EngineSpec, RunFields
from switchkit.reaper_client import Reaper

# What Codex needs to want out of its sandbox.
ASKING = {"sandbox_permissions": "require_escalated", "justification": "the script says so"}
FIELDS = RunFields(sandbox_mode="workspace-write", approval_policy="on-request")


def _step(scene: Scene) -> Step:
    match scene:
        case Says(text):
            return say(text)
        case Runs(command, asks):
            return shell(command, **(ASKING if asks else {}))
        case Hangs():
            return stumble(Hang())
        case Fails("not-logged-in"):
            return stumble(refusal(401, "invalid_api_key"))
        case Fails(kind):
            raise NotImplementedError(kind)


class CodexStage:
    """One Codex with a home of a user and a working directory, all below one folder."""

    def __init__(self, folder: Path, model: ScriptedModel, *, spares: bool = False) -> None:
        self.folder = folder
        self.model = model
        self.user = folder / "user"
        self.cwd = folder / "cwd"
        for made in (self.user / ".codex", self.cwd):
            made.mkdir(parents=True)
        self.reaper = Reaper()
        self.spares = Spares(str(folder / "spares")) if spares else None
        self.templates = HomeTemplates(str(folder / "templates")) if spares else None
        self.engine = CodexEngine(
            reaper=self.reaper,
            program=str(codex_program()),
            spares=self.spares,
            templates=self.templates,
        )
        self.config(codex_settings(model))
        self._count = 0

    def config(self, text: str) -> None:
        """Write the user's own settings of Codex."""
        (self.user / ".codex" / "config.toml").write_text(text, "utf-8")

    @property
    def env(self) -> dict[str, str]:
        return {"HOME": str(self.user), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}

    def spec(self, **more: Any) -> EngineSpec:
        self._count += 1
        own = self.folder / f"run-{self._count}"
        own.mkdir()
        given: dict[str, Any] = {
            "profile": AgentProfile(name="tester", fields=FIELDS),
            "env": self.env,
            "cwd": str(self.cwd),
            "folder": str(own),
            **more,
        }
        return EngineSpec(**given)

    def converse(self, **more: Any) -> EngineConversation:
        return self.engine.converse(self.spec(**more), reaper=self.reaper)

    async def kill(self, conversation: EngineConversation) -> None:
        os.kill(program_below(conversation.pid), signal.SIGKILL)

    async def aclose(self) -> None:
        if self.spares is not None:
            await self.spares.aclose()
        self.reaper.close()


@asynccontextmanager
async def codex_stage(
    folder: Path, steps: Sequence[Step] = (), *, spares: bool = False
) -> AsyncGenerator[CodexStage]:
    """Open a stage; afterwards none of its processes may be left."""
    with responses_model(*steps) as model:
        stage = CodexStage(folder, model, spares=spares)
        try:
            yield stage
        finally:
            await stage.aclose()
    wait_until_none_mention(str(folder))


@asynccontextmanager
async def playing(folder: Path, *scenes: Scene) -> AsyncGenerator[CodexStage]:
    """Open a stage for scenes."""
    async with codex_stage(folder, [_step(scene) for scene in scenes]) as stage:
        yield stage
