"""The other engines end to end: a client, Switchboard, the real program, a played model."""

import asyncio
import json

import pytest

from agents.test_end_to_end import another_program, asked, run_command
from engines.claude_stage import SECRET
from engines.opencode_stage import OpencodeStage
from support.hosts import claude_program, opencode_program
from support.mcp_stdio import text_of
from support.models.loopback import ScriptedModel
from support.models.messages import messages_model
from support.models.script import say, shell
from support.workspace import Workspace

PATIENCE = 180.0


def an_agent(
    workspace: Workspace, engine: str, settings: str, run: str = "", *, name: str = "helper"
) -> None:
    # Programs of this size take long to start where others run beside them.
    patient = settings.replace("[agents]\n", "[agents]\npatience = { default = 300 }\n", 1)
    workspace.config_toml(patient, scope="home")
    folder = workspace.home / "agents"
    folder.mkdir()
    text = f'name = "{name}"\nengine = "{engine}"\n[run]\n{run}\n'
    (folder / f"{name}.toml").write_text(text, "utf-8")


async def ask_helper(workspace: Workspace, *, approve: bool = False) -> object:
    """Give the task, approve what is asked, and give the answer."""
    async with another_program(workspace) as client:
        given = {"task": "look", "cwd": str(workspace.root)}
        calling = asyncio.ensure_future(client.call("agent_helper", given, patience=PATIENCE))
        if approve:
            question = await asked(workspace)
            assert question["facts"]["server"].startswith("agent helper, run r-")
            await run_command(workspace, "approvals", "approve", question["id"], "--yes")
        return json.loads(text_of(await calling))


def claude_env(model: ScriptedModel, workspace: Workspace) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": SECRET,
        "CLAUDE_CONFIG_DIR": str(workspace.user_home / "claude"),
    }


@pytest.mark.parametrize("package", ["@anthropic-ai/claude-code", "claude-modern"])
async def test_an_agent_runs_on_the_real_claude_code(workspace: Workspace, package: str) -> None:
    program = json.dumps(str(claude_program(package)))
    an_agent(workspace, "claude", f"[agents]\nprograms = {{ claude = {program} }}\n")
    made = workspace.root / "made"
    with messages_model(shell(f"touch {made}"), say("made it")) as model:
        workspace.env |= claude_env(model, workspace)
        assert await ask_helper(workspace, approve=True) == {"ok": True, "output": "made it"}
    assert made.exists()


async def test_an_agent_runs_on_the_real_opencode(workspace: Workspace) -> None:
    command = json.dumps(str(opencode_program()))
    settings = (
        '[agents]\npass_env = ["LOOPBACK_API_KEY"]\n'
        f'[agents.acp.opencode]\ncommand = {command}\nargs = ["acp"]\n'
    )
    an_agent(workspace, "acp:opencode", settings)
    with messages_model(say("two bugs")) as model:
        stage = OpencodeStage(workspace.root / ".stage", model)
        more = {name: value for name, value in stage.env.items() if name not in ("HOME", "PATH")}
        workspace.env |= more
        assert await ask_helper(workspace) == {"ok": True, "output": "two bugs"}
        stage.reaper.close()
