"""`python -m switchboard` is the command line."""

import sys

from switchboard.entry import main

if __name__ == "__main__":
    sys.exit(main())
