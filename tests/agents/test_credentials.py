"""The credentials of engines are told nowhere, though the model, its tools and its service do."""

import asyncio
import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agents.ground import board
from agents.real_codex import configure
from agents.test_end_to_end import another_program, asked, run_command
from agents.test_other_engines import an_agent
from cli.commands import switchboard
from engines.codex_stage import ASKING
from fakes.engines import Runs, Says
from support.daemons import log_text
from support.hosts import claude_program
from support.mcp_stdio import text_of
from support.models.loopback import ScriptedModel
from support.models.messages import messages_model, refused
from support.models.responses import refusal, responses_model
from support.models.script import Step, say, shell, stumble
from support.workspace import Json, Workspace
from switchboard.engines.acp.engine import AcpEngine
from switchboard.engines.codex.engine import CodexEngine
from switchkit.reaper_client import Reaper

KEY = "sk-canary-4f1d8e2b7a6c5d4e3f2a1b0c"
PATIENCE = 120.0
TOLD = f"the key is {KEY}"

pytestmark = pytest.mark.timeout(300)


def steps(error: Any, **asking: str) -> tuple[Step, ...]:
    """Have the model know the key, and tell it in every way that there is."""
    return (
        shell(f"echo {KEY} | tee made", **asking),
        say(TOLD),
        stumble(error),
    )


@contextmanager
def codex(workspace: Workspace, where: str) -> Generator[ScriptedModel]:
    configure(workspace)
    error = refusal(400, "invalid_request_error", TOLD)
    with responses_model(*steps(error, **ASKING)) as model:
        home = workspace.user_home / ".codex"
        home.mkdir()
        text = f'model = "gpt-5.5"\nopenai_base_url = "{model.url}/v1"\n'
        if where == "environment":
            workspace.env["OPENAI_API_KEY"] = KEY
        else:
            (home / "auth.json").write_text(json.dumps({"OPENAI_API_KEY": KEY}), "utf-8")
        (home / "config.toml").write_text(text, "utf-8")
        yield model


@contextmanager
def claude(workspace: Workspace, where: str) -> Generator[ScriptedModel]:
    program = json.dumps(str(claude_program("claude-modern")))
    settings = f"[agents]\nprograms = {{ claude = {program} }}\n"
    an_agent(workspace, "claude", settings, name="reviewer")
    own = workspace.user_home / "claude"
    own.mkdir()
    error = refused(400, "invalid_request_error", TOLD)
    with messages_model(*steps(error)) as model:
        workspace.env |= {"ANTHROPIC_BASE_URL": model.url, "CLAUDE_CONFIG_DIR": str(own)}
        if where == "environment":
            workspace.env["ANTHROPIC_API_KEY"] = KEY
        else:
            login = {
                "accessToken": KEY,
                "refreshToken": "sk-canary-refresh-0123456789",
                "expiresAt": 4_102_444_800_000,
                "scopes": ["user:inference"],
            }
            path = own / ".credentials.json"
            path.write_text(json.dumps({"claudeAiOauth": login}), "utf-8")
            path.chmod(0o600)
        yield model


ENGINES = {"codex": codex, "claude": claude}


def tells(text: str) -> list[str]:
    """The lines of a text that hold the key."""
    return [line[:300] for line in text.splitlines() if KEY in line]


def files_that_hold_it(workspace: Workspace) -> list[str]:
    """Those of ours: what an engine keeps of its own conversations is its own."""
    return [
        str(path.relative_to(workspace.home))
        for path in workspace.home.rglob("*")
        if path.is_file() and not path.is_symlink() and KEY.encode() in path.read_bytes()
        if path.relative_to(workspace.home).parts[0] != "conversations"
    ]


@pytest.mark.parametrize(
    ("engine", "where"),
    [
        ("codex", "environment"),
        ("codex", "login"),
        ("claude", "environment"),
        ("claude", "login"),
    ],
)
async def test_no_credential_of_an_engine_is_told_anywhere(
    workspace: Workspace, engine: str, where: str
) -> None:
    with ENGINES[engine](workspace, where) as model:
        async with another_program(workspace) as client:
            given = {"task": "look", "cwd": str(workspace.root)}
            calling = asyncio.ensure_future(client.call("agent_reviewer", given, patience=PATIENCE))
            question = await asked(workspace)
            assert "[redacted]" in json.dumps(question)
            assert tells(json.dumps(question)) == []
            await run_command(workspace, "approvals", "approve", question["id"], "--yes")
            first = await calling
            run_id = first["_meta"]["switchboard/run"]["id"]
            more = {"run_id": run_id, "task": "and more"}
            second = await client.call("run_reply", more, patience=PATIENCE)
            heard = json.dumps((first, second, client.stderr))
        said = [json.dumps(dict(request.headers)) for request in model.requests]
        # It was the key that was used, and the model's tool did tell it.
        assert any(KEY in headers for headers in said)
        assert any(KEY in result for result in model.results)
        assert (workspace.root / "made").read_text("utf-8").strip() == KEY
    assert json.loads(text_of(first)) == {"ok": True, "output": "the key is [redacted]"}
    assert json.loads(text_of(second))["ok"] is False
    assert tells(heard) == []
    shown = everything_shown(workspace, run_id, second["_meta"]["switchboard/run"]["id"])
    assert {name: tells(text) for name, text in shown.items()} == {name: [] for name in shown}
    # The transcript has the command and what it told, without the key.
    assert "echo [redacted]" in shown["transcript"]
    workspace.stop_daemon()
    assert files_that_hold_it(workspace) == []


def everything_shown(workspace: Workspace, *run_ids: str) -> dict[str, str]:
    """All that a person or a program can be shown of it."""
    words = {
        "transcript": ("runs", "show", run_ids[0], "--json"),
        "transcript of the failure": ("runs", "show", run_ids[1], "--json"),
        "transcript in words": ("runs", "show", run_ids[0]),
        "runs": ("runs", "list", "--json"),
        "events": ("events", "--json"),
        "approvals": ("approvals", "list", "--all", "--json"),
        "audit": ("audit", "tail", "--json"),
        "status": ("status", "--json"),
    }
    shown = {name: _shown(workspace, *each) for name, each in words.items()}
    return {**shown, "log": log_text(workspace)}


def _shown(workspace: Workspace, *words: str) -> str:
    done = switchboard(workspace, *words)
    # One that shows a failed run fails, too.
    assert done.out, (words, done.err)
    return done.out + done.err


async def test_what_an_engine_logs_in_with_is_learned_before_it_says_a_word(home: Path) -> None:
    async with board(home, Runs("touch a"), Says(TOLD)) as desk:
        desk.engine.secrets = frozenset({KEY})
        answer: Json = await desk.ask_agent()
        assert answer == {"ok": True, "output": "the key is [redacted]"}


async def test_a_key_in_the_settings_of_codex_is_one_of_its_credentials(tmp_path: Path) -> None:
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "config.toml").write_text(
        f'[model_providers.own]\nname = "own"\nexperimental_bearer_token = "{KEY}-1"\n'
        f'http_headers = {{ "X-Gate" = "{KEY}-2" }}\n'
    )
    reaper = Reaper()
    found = CodexEngine(reaper=reaper).credentials({"HOME": str(tmp_path)})
    reaper.close()
    assert found == {f"{KEY}-1", f"{KEY}-2"}


def test_the_login_of_opencode_is_known_and_a_broken_file_is_none(tmp_path: Path) -> None:
    engine = AcpEngine("opencode")
    env = {"HOME": str(tmp_path)}
    assert engine.credentials(env) == frozenset()
    path = tmp_path / ".local" / "share" / "opencode" / "auth.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"anthropic": {"type": "api", "key": KEY}}), "utf-8")
    assert engine.credentials(env) == {KEY}
    path.write_text("{", "utf-8")
    assert engine.credentials(env) == frozenset()
    assert AcpEngine("mine", "/bin/mine").credentials(env) == frozenset()
