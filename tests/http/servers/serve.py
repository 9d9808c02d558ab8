"""Serves the echo child over HTTP until a signal comes. Prints the URL and the token.

Usage: serve.py FOLDER HOST PORT [allow-remote]
"""

import os
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

from edges.board import echo_entry, settings_of  # noqa: E402 - needs the line above

from switchboard.core.faults import Fault  # noqa: E402
from switchboard.daemon.serve import run  # noqa: E402
from switchboard.daemon.serve_http import serve_http  # noqa: E402
from switchboard.settings.sections import Listener  # noqa: E402
from switchboard.surface.http.token import bearer_token  # noqa: E402


def ready(url: str) -> None:
    token = bearer_token(settings.home, os.environ)
    sys.stdout.write(f"{url} {token}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    folder, host, port, *rest = sys.argv[1:]
    listener = Listener(
        transport="http", host=host, port=int(port), allow_remote="allow-remote" in rest
    )
    settings = settings_of(Path(folder), echo_entry(Path(folder)), listener=listener)
    try:
        sys.exit(run(serve_http(settings, os.environ, ready=ready)))
    except Fault as fault:
        sys.exit(f"error: {fault.message}\nhint: {fault.hint}")
