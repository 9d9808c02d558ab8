"""Entry point of the `switchyard` and `sy` commands, and of `python -m switchyard`."""

from switchyard.core import fast_import as fast_import  # noqa: PLC0414 # isort: skip - comes first

import contextlib
import os
import sys

from switchyard.cli.main import main as run


def main() -> int:
    """Run the command line of this process, and end at once.

    A command keeps all it loads until it ends. Looking for garbage in that, and taking it apart
    piece by piece at the end, costs a question a tenth of its time.
    """
    code = run()
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


if __name__ == "__main__":
    sys.exit(main())
