"""Where every command begins. `mcp` and `call` go to the shim, which must start in a blink."""

import gc
import os
import sys

# What `switchboard codex` shows, whatever else is configured.
_CODEX_ALONE = {
    "AGENTS_CODEX_TOOLS": "true",
    "SWITCHBOARD_TOOLS_ALLOW": "codex,codex-reply,run_*",
}


def main(words: "list[str] | None" = None) -> int:
    """Run one command and give its exit code."""
    # Modules that load make no garbage. Whoever stays collects again.
    gc.disable()
    if not hasattr(os, "fork"):
        sys.stderr.write("error: Switchboard runs on Linux and macOS; on Windows use WSL 2\n")
        return 1
    words = sys.argv[1:] if words is None else words
    if words[:1] == ["codex"] and not {"-h", "--help"} & set(words):
        # What clients launched as `codex mcp-server`: the same road, with fewer tools.
        os.environ.update(_CODEX_ALONE)
        words = ["mcp", *(word for word in words[1:] if word != "mcp-server")]
    if "mcp" in words:
        # Only here: the shim knows nothing of what the command line needs, nor the other way round.
        from switchboard.shim.main import serve  # noqa: PLC0415

        environ = dict(os.environ)
        code = serve(words, environ)
        if code is not None:
            return code
        # What a session needs that this process is to go on with.
        os.environ.update(environ)
    asked = None
    if "call" in words:
        # A daemon that runs is asked before anything is loaded that most answers do without.
        from switchboard.shim.quick_call import call  # noqa: PLC0415

        asked = call(words, dict(os.environ))
        if isinstance(asked, int):
            return asked
    from switchboard.cli.main import main as run_command  # noqa: PLC0415

    return run_command(words, asked)
