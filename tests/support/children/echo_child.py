"""A well-behaved child that writes one message a line. Its argument, if any, is its name."""

import sys

from common_tools import common_server

if __name__ == "__main__":
    common_server(sys.argv[1] if len(sys.argv) > 1 else "echo").run()
