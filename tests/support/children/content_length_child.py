"""A well-behaved child that announces each message with a Content-Length header."""

import sys

from common_tools import common_server
from tiny_server import content_length_frame

if __name__ == "__main__":
    server = common_server(sys.argv[1] if len(sys.argv) > 1 else "content-length")
    server.frame = content_length_frame
    server.run()
