"""Where every command begins. `mcp` goes to the shim, which must start in a blink."""

import os
import sys


def main(words: "list[str] | None" = None) -> int:
    """Run one command and give its exit code."""
    words = sys.argv[1:] if words is None else words
    if "mcp" in words and hasattr(os, "fork"):
        # Only here: the shim knows nothing of what the command line needs, nor the other way round.
        from switchboard.shim.main import serve  # noqa: PLC0415

        code = serve(words, dict(os.environ))
        if code is not None:
            return code
    from switchboard.cli.main import main as run_command  # noqa: PLC0415

    return run_command(words)
