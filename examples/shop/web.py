"""The web app: one page with the orders, and a stream that tells of new ones."""

import html
import json
import os
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

API = f"http://{os.environ['API_HOST']}:{os.environ['API_PORT']}"


class Web(BaseHTTPRequestHandler):
    """`GET /` is the page."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Show the orders."""
        with urllib.request.urlopen(f"{API}/orders", timeout=5) as answer:  # noqa: S310 - always http
            orders = json.load(answer)
        rows = "".join(f"<li>{html.escape(one['item'])}: {one['state']}</li>" for one in orders)
        branch = html.escape(os.environ["SWITCHYARD_BRANCH"])
        body = f"<h1>Shop on {branch}</h1><ul>{rows}</ul>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


ThreadingHTTPServer((os.environ["HOST"], int(os.environ["PORT"])), Web).serve_forever()
