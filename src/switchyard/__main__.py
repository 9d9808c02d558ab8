"""Entry point of the `switchyard` and `sy` commands."""

import sys


def main() -> int:
    """Say what is here today."""
    sys.stderr.write("error: the yard has no commands yet\n")
    return 2


if __name__ == "__main__":
    sys.exit(main())
