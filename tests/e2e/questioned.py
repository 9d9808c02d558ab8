"""Claude Code and Codex in real terminals, with a question on the screen and a person before it."""

import itertools
import json
import os
import re
import shutil
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest

from support.hosts import PRIVATE, claude_program, codex_program, codex_settings
from support.models.loopback import ScriptedModel
from support.models.messages import messages_model
from support.models.responses import responses_model
from support.models.script import Reply, Say, Situation, Step, Stumble, Use, use
from support.processes import mentioning, wait_until_none_mention
from support.tmux import Pane, pane
from support.workspace import NODE_MODULES, Json, Workspace, server

MEMORY = NODE_MODULES / "@modelcontextprotocol" / "server-memory" / "dist" / "index.js"


DECLARING = Path(__file__).parents[1] / "support" / "children" / "declaring_child.py"


def create(*entities: Json) -> Step:
    """Have the model create what the server then keeps."""
    return use(
        "memory_suite", action="call", subtool="create_entities", args={"entities": list(entities)}
    )


ADA: Json = {"name": "Ada", "entityType": "person", "observations": ["wrote notes"]}
CALL = create(ADA)
MOST_TURNS = 20
ASKED = "memory.create_entities"
DONE = "all done"


class Host(NamedTuple):
    """A host with a terminal, and the keys by which its user agrees."""

    begin: Callable[[ScriptedModel, Workspace], tuple[list[str | Path], dict[str, str]]]
    model: Callable[..., AbstractContextManager[ScriptedModel]]
    # What its screen shows once it waits for words.
    ready: str
    # Keys, each with what the screen shows after it.
    accept: tuple[tuple[str, str], ...]
    # The same for whoever does not agree.
    decline: tuple[tuple[str, str], ...]


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
            # What it chooses without this, and writes below the prompt, depends on who runs it.
            *("--permission-mode", "default"),
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
        accept=(("Down", "\u276f Accept"), ("Enter", DONE)),
        decline=(("Down", "\u276f Accept"), ("Right", "\u276f Decline"), ("Enter", DONE)),
    ),
    "claude-code-modern": Host(
        claude("claude-modern"),
        messages_model,
        "? for shortcuts",
        accept=(("Down", "\u276f Accept"), ("Enter", DONE)),
        decline=(("Down", "\u276f Accept"), ("Right", "\u276f Decline"), ("Enter", DONE)),
    ),
    "codex": Host(
        codex,
        responses_model,
        "? for shortcuts",
        accept=(("Down", "\u203a 2. Run it, just this once"), ("Enter", DONE)),
        # What is chosen when the question appears, and submitted without a thought.
        decline=(("Enter", DONE),),
    ),
}


class Script:
    """A model that makes each call once. A host may begin before its servers: it is told again."""

    def __init__(self, calls: Sequence[Step], says: str = DONE) -> None:
        self._calls = list(calls)
        self._says = says
        self.turns = 0
        self.has_called = False

    def __call__(self, situation: Situation) -> Reply | Stumble:
        self.turns += 1
        if not self._calls:
            return Say(self._says)
        reply = self._calls[0](situation)
        if isinstance(reply, Use):
            self.has_called = True
            del self._calls[0]
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
def seated(host: Host, workspace: Workspace, size: tuple[int, int], turn: Step) -> Generator[Desk]:
    """Sit in front of a host that waits for words; its model does the same at every turn."""
    with host.model(*[turn] * MOST_TURNS) as model:
        command, env = host.begin(model, workspace)
        socket = workspace.user_home.parent / "tmux"
        with pane(command, socket, cwd=workspace.root, env=env, size=size) as shown:
            shown.until_shown(host.ready)
            yield Desk(shown, model, workspace.root / "memory.jsonl")


_NUMBERS = itertools.count(1)


def until_called(desk: Desk, host: Host, script: Script) -> None:
    """Have the model go on until it has made a call."""
    shown = desk.pane
    while not script.has_called:
        turns = script.turns
        shown.until_shown(host.ready)
        # Nothing that is on the screen already.
        shown.type_until_shown(f"go on {next(_NUMBERS)}")
        shown.press_until_true("Enter", lambda _, turns=turns: script.turns > turns)


@contextmanager
def asked(
    host: Host, workspace: Workspace, size: tuple[int, int], *calls: Step, about: str = ASKED
) -> Generator[Desk]:
    """Sit in front of a host whose model has made a call, and that asks about it.

    The others follow, each when the one before it has its answer.
    """
    script = Script(calls or (CALL,))
    with seated(host, workspace, size, script) as desk:
        until_called(desk, host, script)
        desk.pane.until_shown(about)
        yield desk


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
    screen = re.sub(r"approvals show \w{8}", "approvals show ........", screen)
    # The question only: what stands above it counts seconds.
    lines = screen.splitlines()
    first = next((n for n, each in enumerate(lines) if _BEGINS.search(each)), 0)
    return "\n".join(lines[first:])


_BEGINS = re.compile(r"requests your input|Field 1/1")
