"""The API: orders in PostgreSQL, over JSON."""

import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from query import query


class Api(BaseHTTPRequestHandler):
    """`GET /orders`, `POST /orders`, `GET /health`."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """List the orders, or say that all is well."""
        if self.path == "/health":
            self._answer(200, {"ok": True, "branch": os.environ["SWITCHYARD_BRANCH"]})
            return
        rows = query("select id, item, state from orders order by id")
        self._answer(200, [{"id": int(row[0]), "item": row[1], "state": row[2]} for row in rows])

    def do_POST(self) -> None:
        """Take an order."""
        length = int(self.headers.get("Content-Length", 0))
        item = str(json.loads(self.rfile.read(length))["item"])
        query("insert into orders (item) values (:'item')", item=item)
        self._answer(201, {"ok": True})

    def _answer(self, status: int, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


ThreadingHTTPServer((os.environ["HOST"], int(os.environ["PORT"])), Api).serve_forever()
