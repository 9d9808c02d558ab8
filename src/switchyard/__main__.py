"""Entry point of the `switchyard` and `sy` commands, and of `python -m switchyard`."""

import sys

from switchyard.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
