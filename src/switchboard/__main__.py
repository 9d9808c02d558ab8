"""`python -m switchboard` is the command line."""

import sys

from switchboard.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
