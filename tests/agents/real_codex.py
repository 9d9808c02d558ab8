"""The real Codex as the engine of one agent, with a model that plays on loopback."""

import json
from collections.abc import Generator
from contextlib import contextmanager

from support.hosts import codex_program, codex_settings
from support.models.loopback import ScriptedModel
from support.models.responses import responses_model
from support.models.script import Step
from support.workspace import Workspace

AGENT = """
name = "reviewer"
description = "Reviews."
instructions = "You review."

[run]
sandbox_mode = "workspace-write"
approval_policy = "on-request"
"""


@contextmanager
def playing(workspace: Workspace, *steps: Step) -> Generator[ScriptedModel]:
    """Have Codex talk to a model that plays these steps."""
    with responses_model(*steps) as model:
        home = workspace.user_home / ".codex"
        home.mkdir(exist_ok=True)
        (home / "config.toml").write_text(codex_settings(model), "utf-8")
        yield model


def configure(workspace: Workspace, more: str = "", *, unconfined: bool = False) -> None:
    program = json.dumps(str(codex_program()))
    # A client that is not told otherwise waits for the end, however slow the machine is.
    patient = "" if "patience" in more else "patience = { default = 300 }\n"
    workspace.config_toml(
        # In the file, because an engine may not pass a variable on to what it starts.
        f"guard = false\n[agents]\nprograms = {{ codex = {program} }}\n{patient}{more}",
        scope="home",
    )
    folder = workspace.home / "agents"
    folder.mkdir(exist_ok=True)
    agent = AGENT
    if unconfined:
        agent = agent.replace("workspace-write", "danger-full-access").replace(
            "on-request", "never"
        )
    (folder / "reviewer.toml").write_text(agent, "utf-8")
