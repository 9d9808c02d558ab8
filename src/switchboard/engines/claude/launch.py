"""How Claude Code is started: its command line, its environment and the files it is handed.

The user's own configuration folder stays in use. The login lives there and renews itself in
place: a copy would go stale and log the user out, and the keychain of macOS knows a login by its
folder. So the user's settings apply, and those of the workspace only once it is trusted.
"""

import os

import msgspec
from msgspec import Struct

from switchboard.engines.claude.mapping import arguments
from switchboard.engines.profile import EngineSpec
from switchboard.engines.quiet_git import with_quiet_git
from switchboard.engines.surroundings import kept_from_shells, shielded_command, without
from switchkit.files import make_private_folder, replace_file

# What a Claude Code that started us says of itself: ours would take itself for a part of it.
_OF_ANOTHER = (
    *("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PID"),
    *("CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_CODE_EXECPATH"),
    *("CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN", "CLAUDE_CODE_SSE_PORT"),
    *("CLAUDE_EFFORT", "CLAUDE_ENV_FILE", "CLAUDE_PROJECT_DIR"),
)
# What nobody asked for, and what would outlive a turn. The user's own words win.
_HABITS = {
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    "CLAUDE_CODE_DISABLE_CRON": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    # Ten by default, which is minutes of silence.
    "CLAUDE_CODE_MAX_RETRIES": "4",
    "DISABLE_AUTOUPDATER": "1",
    # Tools of a server that starts slowly must not be missing from the first request.
    "MCP_CONNECTION_NONBLOCKING": "0",
}
_STREAMING = (
    *("--print", "--verbose", "--input-format", "stream-json", "--output-format", "stream-json"),
    *("--include-partial-messages", "--replay-user-messages", "--permission-prompt-tool", "stdio"),
)


# Credentials that it can read from an open file: what is in the environment, its shells can see.
_READ_FROM_FILES = {
    "ANTHROPIC_API_KEY": "CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR",
    "CLAUDE_CODE_OAUTH_TOKEN": "CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR",
}
_NATIVE = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")


class ClaudeStart(Struct, frozen=True, kw_only=True):
    """How it is started."""

    argv: tuple[str, ...]
    env: dict[str, str]
    # What it reads from open files, by the variables that name these.
    handed: dict[str, str]


def prepare(spec: EngineSpec, program: str, session: str) -> ClaudeStart:
    """Write what it reads and say how it is started. Blocks. Raises OSError.

    `session` is the conversation to go on with.
    """
    make_private_folder(spec.folder)
    env = _environment(spec)
    servers = {
        server.name: {
            "type": "stdio",
            "command": (command := shielded_command(server, (*env, *_OF_ANOTHER)))[0],
            "args": command[1:],
            "env": server.env,
        }
        for server in spec.profile.servers
    }
    sources = "user,project,local" if spec.is_trusted else "user"
    words = [program, *_STREAMING, "--setting-sources", sources, "--strict-mcp-config"]
    # In a file, since everybody may read a command line.
    words += ["--mcp-config", _written(spec, "servers.json", {"mcpServers": servers})]
    words += arguments(spec.profile)
    # In files, since one word of a command line has an end.
    if spec.profile.base_instructions:
        path = _written(spec, "system.md", spec.profile.base_instructions)
        words += ["--system-prompt-file", path]
    if spec.profile.developer_instructions:
        path = _written(spec, "instructions.md", spec.profile.developer_instructions)
        words += ["--append-system-prompt-file", path]
    if session:
        words += ["--resume", session]
    env, handed = _handed(env, program)
    return ClaudeStart(argv=tuple(words), env=env, handed=handed)


def _handed(env: dict[str, str], program: str) -> tuple[dict[str, str], dict[str, str]]:
    """The environment without the credentials that are handed on in another way, and these."""
    if not _is_native(program):
        # A script may start another program, which gets no files but the standard streams.
        return env, {}
    told = {name: file for name, file in _READ_FROM_FILES.items() if env.get(name)}
    return without(env, told), {file: env[name] for name, file in told.items()}


def _is_native(program: str) -> bool:
    with open(program, "rb") as file:
        return file.read(4) in _NATIVE


def _environment(spec: EngineSpec) -> dict[str, str]:
    env = {**_HABITS, **without(spec.env, _OF_ANOTHER)}
    # It is read before every command of a shell, and takes the secrets out of its environment.
    secrets = [name for name in kept_from_shells(spec.env) if name.isidentifier()]
    lines = [f"unset {name}\n" for name in (*secrets, "CLAUDE_CODE_MESSAGING_TOKEN")]
    env["CLAUDE_ENV_FILE"] = _written(spec, "shell.sh", "".join(lines))
    # Also where the workspace is trusted: nobody was shown what its repository would start.
    return with_quiet_git(env, spec.cwd)


def _written(spec: EngineSpec, name: str, content: str | dict[str, object]) -> str:
    path = os.path.join(spec.folder, name)
    data = content.encode() if isinstance(content, str) else msgspec.json.encode(content)
    replace_file(path, data, durable=False)
    return path
