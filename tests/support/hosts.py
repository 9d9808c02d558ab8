"""Real MCP hosts, run once without a person against a scripted model.

Each runs its native program, not the Node launcher (but Gemini CLI has no other), with a private
configuration and nothing of the machine's own.
"""

import asyncio
import json
import platform
from asyncio.subprocess import PIPE
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from support.models.loopback import ScriptedModel
from support.workspace import CHECKOUT, NODE_MODULES, Json, Workspace

PATIENCE = 90.0
STARTING_S = 60
# Codex will not put its helpers into the system's folder for temporary files.
PRIVATE = CHECKOUT / ".run" / "hosts"


class Finished(NamedTuple):
    """How a host ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def events(self) -> list[Json]:
        return [json.loads(line) for line in self.stdout.splitlines() if line.startswith("{")]


def claude_program(package: str = "@anthropic-ai/claude-code") -> Path:
    """Find the native Claude Code that belongs to an npm package."""
    platform_package = f"@anthropic-ai/claude-code-linux-{_node_arch()}"
    nested = NODE_MODULES / package / "node_modules" / platform_package / "claude"
    return nested if nested.exists() else NODE_MODULES / platform_package / "claude"


def codex_program(package: str = "") -> Path:
    """Find the native Codex, or the one of an npm alias.

    `codex-oracle` is the last version whose `mcp-server` has the tools `codex` and `codex-reply`.
    """
    root = NODE_MODULES / package / "node_modules" if package else NODE_MODULES
    found = root.glob(f"@openai/codex-linux-{_node_arch()}/vendor/*/bin/codex")
    return next(iter(found))


def opencode_program() -> Path:
    """Find the native opencode, in the build that runs on older processors too."""
    name = f"opencode-linux-{_node_arch()}"
    name += "-baseline" if _node_arch() == "x64" else ""
    return NODE_MODULES / name / "bin" / "opencode"


def gemini_program() -> Path:
    """Find Gemini CLI, which is one file for Node."""
    return NODE_MODULES / "@google" / "gemini-cli" / "bundle" / "gemini.js"


_CODEX_SETTINGS = """
model = "mock-model"
model_provider = "loopback"

[model_providers.loopback]
name = "loopback"
base_url = "{url}/v1"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
"""


def codex_settings(model: ScriptedModel) -> str:
    """Give a user's `config.toml` of Codex that leads to a model on loopback."""
    return _CODEX_SETTINGS.format(url=model.url)


async def run_claude(
    program: Path,
    model: ScriptedModel,
    workspace: Workspace,
    servers: Mapping[str, Json],
    *,
    tool_search: bool = False,
    rules: Json | None = None,
) -> Finished:
    """Run one prompt in Claude Code, with these servers and all their tools allowed.

    With rules those are its user's settings, and nothing else is allowed.
    With `tool_search` the host keeps the tools of servers back until the model searches for them.
    """
    env = {
        **workspace.env,
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": "loopback",
        "CLAUDE_CONFIG_DIR": str(workspace.user_home / "claude"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "1",
        "DISABLE_AUTOUPDATER": "1",
        "ENABLE_TOOL_SEARCH": str(tool_search).lower(),
        # Hosts begin without a server that a busy machine starts slowly, unless told to wait.
        "MCP_CONNECTION_NONBLOCKING": "0",
        "MCP_TIMEOUT": str(STARTING_S * 1000),
        "MCP_CONNECT_TIMEOUT_MS": str(STARTING_S * 1000),
    }
    if rules is not None:
        settings = workspace.user_home / "claude" / "settings.json"
        settings.parent.mkdir(exist_ok=True)
        settings.write_text(json.dumps(rules), "utf-8")
    allowed = [f"mcp__{name}" for name in servers] if rules is None else []
    arguments = [
        "--print",
        *("--output-format", "stream-json", "--verbose", "--no-session-persistence"),
        *("--model", "mock-model", "--setting-sources", "user"),
        *("--strict-mcp-config", "--mcp-config", json.dumps({"mcpServers": servers})),
        *(("--allowedTools", *allowed) if allowed else ()),
    ]
    return await _run([program, *arguments], workspace, env)


async def run_codex(
    program: Path,
    model: ScriptedModel,
    workspace: Workspace,
    servers: Mapping[str, Json],
    *,
    model_name: str = "mock-model",
    server_env: Mapping[str, str] | None = None,
    approval: str = "approve",
) -> Finished:
    """Run one prompt in Codex, with these servers and all their tools approved.

    With `approval` as `auto` Codex judges each tool by what is said of it. What it knows of a model
    by its name decides whether it keeps tools back for a search. It passes little of its
    environment on to servers; `server_env` is what they are given besides.
    """
    provider = {"name": "loopback", "base_url": f"{model.url}/v1", "wire_api": "responses"}
    settings: Json = {
        "model": model_name,
        "model_provider": "loopback",
        "model_providers": {"loopback": {**provider, "request_max_retries": 1}},
        "projects": {str(workspace.root): {"trust_level": "untrusted"}},
        "mcp_servers": {
            name: {
                **entry,
                "default_tools_approval_mode": approval,
                "env": dict(workspace.env if server_env is None else server_env),
                "required": True,
                "startup_timeout_sec": STARTING_S,
            }
            for name, entry in servers.items()
        },
    }
    overrides = [f"{key}={_toml(value)}" for key, value in settings.items()]
    return await run_codex_with(program, workspace, "", *overrides)


async def run_codex_with(
    program: Path, workspace: Workspace, settings: str, *overrides: str
) -> Finished:
    """Run one prompt in Codex with this `config.toml` of its user, and what overrides it."""
    arguments = [
        *("exec", "--json", "--skip-git-repo-check", "--ephemeral", "--strict-config"),
        *("-C", str(workspace.root), "-s", "read-only"),
        *(word for override in overrides for word in ("-c", override)),
        "-",
    ]
    PRIVATE.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=PRIVATE, prefix="codex-", ignore_cleanup_errors=True) as home:
        (Path(home) / "config.toml").write_text(settings, "utf-8")
        return await _run([program, *arguments], workspace, {**workspace.env, "CODEX_HOME": home})


async def run_opencode(
    program: Path,
    model: ScriptedModel,
    workspace: Workspace,
    servers: Mapping[str, Json],
    more: Mapping[str, Json] = {},
) -> Finished:
    """Run one prompt in opencode, with these servers; it allows all tools by itself."""
    provider: Json = {
        "npm": "@ai-sdk/openai",
        "name": "loopback",
        "options": {"baseURL": f"{model.url}/v1", "apiKey": "loopback"},
        "models": {"mock-model": {"name": "mock-model", "tool_call": True}},
    }
    settings: Json = {
        "$schema": "https://opencode.ai/config.json",
        "autoupdate": False,
        "share": "disabled",
        "model": "loopback/mock-model",
        "small_model": "loopback/mock-model",
        "enabled_providers": ["loopback"],
        "provider": {"loopback": provider},
        "mcp": {
            name: {
                "type": "local",
                "command": [entry["command"], *entry["args"]],
                "environment": workspace.env,
                "timeout": STARTING_S * 1000,
            }
            for name, entry in servers.items()
        },
        **more,
    }
    _write(workspace.user_home / ".config" / "opencode" / "opencode.json", settings)
    env = {
        **workspace.env,
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        # It would fetch a package for plugins, which it does without.
        "npm_config_registry": "http://127.0.0.1:1",
        "npm_config_fetch_retries": "0",
    }
    return await _run([program, "run", "--format", "json"], workspace, env)


async def run_gemini(
    program: Path, model: ScriptedModel, workspace: Workspace, servers: Mapping[str, Json]
) -> Finished:
    """Run one prompt in Gemini CLI, with these servers and all their tools trusted."""
    settings: Json = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False},
        "mcpServers": {
            name: {
                **entry,
                "env": workspace.env,
                "trust": True,
                "timeout": STARTING_S * 1000,
            }
            for name, entry in servers.items()
        },
    }
    _write(workspace.user_home / ".gemini" / "settings.json", settings)
    env = {
        **workspace.env,
        "GEMINI_API_KEY": "loopback",
        "GOOGLE_GEMINI_BASE_URL": model.url,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }
    command = ["node", program, "--model", "mock-model", "--output-format", "stream-json"]
    return await _run(command, workspace, env)


def _write(path: Path, settings: Json) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(settings), "utf-8")


async def _run(
    command: Sequence[str | Path], workspace: Workspace, env: Mapping[str, str]
) -> Finished:
    process = await asyncio.create_subprocess_exec(
        *map(str, command), stdin=PIPE, stdout=PIPE, stderr=PIPE, cwd=workspace.root, env=env
    )
    try:
        async with asyncio.timeout(PATIENCE):
            out, err = await process.communicate(b"Please do as the script says.")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return Finished(process.returncode, out.decode(), err.decode())


def _toml(value: Json | str | int | list[str]) -> str:
    """Write a value as inline TOML."""
    if isinstance(value, dict):
        pairs = [f"{json.dumps(key)} = {_toml(inner)}" for key, inner in value.items()]
        return "{" + ", ".join(pairs) + "}"
    return json.dumps(value, ensure_ascii=False)


def _node_arch() -> str:
    return {"x86_64": "x64", "aarch64": "arm64"}[platform.machine()]
