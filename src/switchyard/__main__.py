"""Entry point of the `switchyard` and `sy` commands, and of `python -m switchyard`."""

import contextlib
import gc
import os
import sys


def main() -> int:
    """Run the command line of this process, and end at once.

    A command keeps all it loads until it ends. Looking for garbage in that, and taking it apart
    piece by piece at the end, costs a question a tenth of its time.
    """
    gc.disable()
    # Imported only now, so that nothing looks for garbage while it is loaded.
    from switchyard.cli.main import main as run  # noqa: PLC0415

    code = run()
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


if __name__ == "__main__":
    sys.exit(main())
