"""Entry point of the `switchyard` and `sy` commands, and of `python -m switchyard`."""

from switchyard.core import fast_import as fast_import  # noqa: PLC0414 # isort: skip - comes first

import contextlib
import os
import sys

if not hasattr(os, "fork"):
    sys.exit("error: Switchyard runs on Linux and macOS; on Windows use WSL 2")

from switchyard.cli.main import main as run


def main() -> int:
    """Run the command line of this process, and end at once.

    A command keeps everything it loads until it ends. Collecting garbage in it, and tearing it
    down piece by piece at the end, would take a tenth of the time of a query.
    """
    code = run()
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


if __name__ == "__main__":
    sys.exit(main())
