"""The programs of real hosts, asked in a home of their own and without a network."""

import subprocess
from collections.abc import Callable
from typing import NamedTuple

from hosts.ground import Ground
from support.hosts import claude_program, codex_program, gemini_program, opencode_program

# A network of its own, with nobody in it.
ALONE = ("unshare", "--user", "--map-root-user", "--net")
PATIENCE = 120
# Nothing of the machine, least of all a `switchboard` that could be started.
ENV = {
    "PATH": "/usr/bin:/bin",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "NO_COLOR": "1",
}


class RealHost(NamedTuple):
    """A program, and a file of it with a server that does nothing."""

    host: str
    command: Callable[[], list[str]]
    before: bytes
    # Its host writes it anew whenever it runs.
    is_rewritten: bool = False


HOSTS = {
    "codex": RealHost(
        "codex",
        lambda: [str(codex_program())],
        b'# mine\nmodel = "gpt-5.5" # for now\n\n[mcp_servers.notes]\ncommand = "false"\n'
        b'\n# how it looks\n[tui]\ntheme = "dark"\n',
    ),
    "claude-code": RealHost(
        "claude-code",
        lambda: [str(claude_program("claude-modern"))],
        b'{\n  "hasCompletedOnboarding": true,\n  "mcpServers": {\n    "notes": {\n'
        b'      "type": "stdio",\n      "command": "false",\n      "args": []\n    }\n  }\n}\n',
        is_rewritten=True,
    ),
    "gemini": RealHost(
        "gemini",
        lambda: ["node", str(gemini_program())],
        b'{\n  // mine\n  "ui": { "theme": "Default" },\n'
        b'  "mcpServers": { "notes": { "command": "false" } }\n}\n',
    ),
    "opencode": RealHost(
        "opencode",
        lambda: [str(opencode_program())],
        # It writes its schema into a file that has none.
        b'{\n  // mine\n  "$schema": "https://opencode.ai/config.json",\n  "mcp": {\n'
        b'    "notes": { "type": "local", "command": ["false"], },\n  },\n}\n',
    ),
}


def said(ground: Ground, real: RealHost, *words: str) -> str:
    """What the host says when it is asked."""
    ran = subprocess.run(
        [*ALONE, *real.command(), *words],
        cwd=ground.places.project,
        env={**ENV, "HOME": ground.places.user_home},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return ran.stdout + ran.stderr
