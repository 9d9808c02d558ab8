"""A server of the standard library on loopback, for as long as a test needs it."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Some clients do not wait for what comes late."""


@contextmanager
def served(handler: type[BaseHTTPRequestHandler]) -> Generator[str]:
    """Serve requests with a handler; gives the address."""
    http = _Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{http.server_address[1]}"
    finally:
        http.shutdown()
        thread.join(10)
        http.server_close()
