"""What a person sees of a question in the real terminals of Claude Code and Codex.

The screens are kept beside this file. After a change of words, or of a host, look at the new ones,
which a failed test leaves in `.run/screens`, and copy them if a person could decide by them.
"""

import json
import os
import re
import shutil
import signal
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest

from support.hosts import PRIVATE, claude_program, codex_program, codex_settings
from support.models.loopback import ScriptedModel
from support.models.messages import messages_model
from support.models.responses import responses_model
from support.models.script import Reply, Say, Situation, Stumble, Use, use
from support.processes import mentioning, wait_until_none_mention
from support.requirements import requirement
from support.tmux import Pane, pane
from support.workspace import CHECKOUT, NODE_MODULES, Json, Workspace, server
from switchboard.surface.unattended import READING_S

SCREENS = Path(__file__).parent / "screens"
SEEN = CHECKOUT / ".run" / "screens"
MEMORY = NODE_MODULES / "@modelcontextprotocol" / "server-memory" / "dist" / "index.js"
ADA: Json = {"name": "Ada", "entityType": "person", "observations": ["wrote notes"]}
CALL = use("memory_suite", action="call", subtool="create_entities", args={"entities": [ADA]})
MOST_TURNS = 20
ASKED = "memory.create_entities"
SIZES = [(80, 24), (200, 50)]


class Host(NamedTuple):
    """A host with a terminal, and the keys by which its user agrees."""

    begin: Callable[[ScriptedModel, Workspace], tuple[list[str | Path], dict[str, str]]]
    model: Callable[..., AbstractContextManager[ScriptedModel]]
    # What its screen shows once it waits for words.
    ready: str
    # Keys, each with what the screen shows after it.
    accept: tuple[tuple[str, str], ...]


def claude(package: str) -> Callable[..., tuple[list[str | Path], dict[str, str]]]:
    def begin(
        model: ScriptedModel, workspace: Workspace
    ) -> tuple[list[str | Path], dict[str, str]]:
        folder = workspace.user_home / "claude"
        folder.mkdir()
        known = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": {"approved": ["loopback"], "rejected": []},
            "projects": {str(workspace.root): {"hasTrustDialogAccepted": True}},
        }
        (folder / ".claude.json").write_text(json.dumps(known), "utf-8")
        servers = {"mcpServers": {"board": server(workspace.command("mcp"))}}
        env = {
            **workspace.env,
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "loopback",
            "CLAUDE_CONFIG_DIR": str(folder),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "ENABLE_TOOL_SEARCH": "false",
        }
        command = [
            claude_program(package),
            *("--model", "mock-model", "--setting-sources", "user", "--strict-mcp-config"),
            *("--mcp-config", json.dumps(servers), "--allowedTools", "mcp__board"),
        ]
        return command, env

    return begin


def codex(model: ScriptedModel, workspace: Workspace) -> tuple[list[str | Path], dict[str, str]]:
    folder = PRIVATE / workspace.user_home.parent.name
    folder.mkdir(parents=True)
    command, *args = workspace.command("mcp")
    entry = {"command": command, "args": args, "default_tools_approval_mode": "approve"}
    lines = [
        codex_settings(model),
        f'[projects."{workspace.root}"]\ntrust_level = "trusted"',
        "[mcp_servers.board]",
        *(f"{key} = {json.dumps(value)}" for key, value in entry.items()),
        "[mcp_servers.board.env]",
        *(f"{key} = {json.dumps(value)}" for key, value in workspace.env.items()),
    ]
    (folder / "config.toml").write_text("\n".join(lines), "utf-8")
    return [codex_program(), "-C", workspace.root], {**workspace.env, "CODEX_HOME": str(folder)}


HOSTS = {
    "claude-code": Host(
        claude("@anthropic-ai/claude-code"),
        messages_model,
        "? for shortcuts",
        accept=(("Down", "\u276f Accept"), ("Enter", "all done")),
    ),
    "claude-code-modern": Host(
        claude("claude-modern"),
        messages_model,
        "auto mode",
        accept=(("Down", "\u276f Accept"), ("Enter", "all done")),
    ),
    "codex": Host(
        codex,
        responses_model,
        "? for shortcuts",
        accept=(("Enter", "all done"),),
    ),
}


class Script:
    """A model that makes the call once. A host may begin before its servers: it is told again."""

    def __init__(self) -> None:
        self.turns = 0
        self.has_called = False

    def __call__(self, situation: Situation) -> Reply | Stumble:
        self.turns += 1
        if self.has_called:
            return Say("all done")
        reply = CALL(situation)
        self.has_called = isinstance(reply, Use)
        return reply


class Desk(NamedTuple):
    """A person in front of a host."""

    pane: Pane
    model: ScriptedModel
    kept: Path


@pytest.fixture
def workspace() -> Iterator[Workspace]:
    # As long in every run: what is shown of it takes as many rows.
    with TemporaryDirectory(prefix="sb-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        workspace = Workspace(Path(folder), daemon=True)
        workspace.root = workspace.user_home / "app"
        workspace.settings = workspace.root / ".switchboard"
        workspace.settings.mkdir(parents=True)
        (workspace.root / "memory.js").symlink_to(MEMORY)
        env = {"MEMORY_FILE_PATH": str(workspace.root / "memory.jsonl")}
        workspace.mcp_json({"memory": server(["node", "memory.js"], env=env)})
        workspace.config_toml("guard = true\n", scope="home")
        yield workspace
        workspace.stop_daemon()
        # Codex leaves a daemon of its own behind, which belongs to the folder of its settings.
        for pid in mentioning(Path(folder).name):
            os.kill(pid, signal.SIGKILL)
        wait_until_none_mention(Path(folder).name)
        shutil.rmtree(PRIVATE / Path(folder).name, ignore_errors=True)


@contextmanager
def asked(host: Host, workspace: Workspace, size: tuple[int, int]) -> Generator[Desk]:
    """Sit in front of a host whose model has made the call, and that asks about it."""
    script = Script()
    with host.model(*[script] * MOST_TURNS) as model:
        command, env = host.begin(model, workspace)
        socket = workspace.user_home.parent / "tmux"
        with pane(command, socket, cwd=workspace.root, env=env, size=size) as shown:
            shown.until_shown(host.ready)
            while not script.has_called:
                turns = script.turns
                shown.until_shown(host.ready)
                shown.type("go on")
                shown.until_shown("go on")
                shown.press("Enter")
                shown.until(lambda _, turns=turns: script.turns > turns)
            shown.until_shown(ASKED)
            yield Desk(shown, model, workspace.root / "memory.jsonl")


def drawn(desk: Desk) -> str:
    """Give the screen once it stands still, with nothing in it that differs between two runs."""
    before = ""
    while before != (now := _steady(desk.pane.screen)):
        before = now
    return now


def _steady(screen: str) -> str:
    screen = re.sub(r"/tmp/sb-\w{8}", "/tmp/sb-........", screen)
    ids = r"Approval: \w{8}, bound to \w{12}"
    screen = re.sub(ids, "Approval: ........, bound to ............", screen)
    # The question only: what stands above it counts seconds.
    lines = screen.splitlines()
    first = next((n for n, each in enumerate(lines) if _BEGINS.search(each)), 0)
    return "\n".join(lines[first:])


_BEGINS = re.compile(r"requests your input|Field 1/1")


@requirement("S3.28", "S3.31", "S3.32", "S3.107")
@pytest.mark.parametrize("size", SIZES, ids=lambda size: "x".join(map(str, size)))
@pytest.mark.parametrize("name", HOSTS)
@pytest.mark.timeout(180)
def test_a_person_sees_what_is_decided_and_accepts_it_once(
    name: str, size: tuple[int, int], workspace: Workspace
) -> None:
    host = HOSTS[name]
    with asked(host, workspace, size) as desk:
        seen = drawn(desk)
        SEEN.mkdir(parents=True, exist_ok=True)
        file = f"{name}-{size[0]}x{size[1]}.txt"
        (SEEN / file).write_text(f"{seen}\n", "utf-8")
        wanted = (SCREENS / file).read_text("utf-8")
        if os.getuid() != 0:
            wanted = "".join(line for line in wanted.splitlines(True) if "ROOT" not in line)
        assert f"{seen}\n" == wanted
        assert not desk.kept.exists()
        # A person reads first: what is pressed sooner is not taken for an answer.
        time.sleep(READING_S)
        for key, then in host.accept:
            desk.pane.press_until(key, then)
    assert "Ada" in desk.kept.read_text("utf-8")
