"""An OTLP collector on loopback, which keeps what it is sent, or never answers."""

from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Collector:
    """An OTLP collector on loopback that keeps what it is sent."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.received: list[tuple[str, dict[str, str], bytes]] = []

    def spans(self) -> list[Any]:
        requests = [ExportTraceServiceRequest.FromString(body) for body in self._bodies("traces")]
        return [
            span
            for request in requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def services(self) -> set[str]:
        return {
            attribute.value.string_value
            for body in self._bodies("traces")
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans
            for attribute in resource.resource.attributes
            if attribute.key == "service.name"
        }

    def metrics(self) -> dict[str, Any]:
        requests = [
            ExportMetricsServiceRequest.FromString(body) for body in self._bodies("metrics")
        ]
        return {
            metric.name: metric
            for request in requests
            for resource in request.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }

    def _bodies(self, signal: str) -> list[bytes]:
        return [body for path, _, body in self.received if path == f"/v1/{signal}"]


@contextmanager
def collecting(*, answers: bool = True) -> Generator[Collector]:
    over = Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            collector.received.append((self.path, dict(self.headers.items()), body))
            if not answers:
                over.wait()
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            del format, args

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collector = Collector(server.server_port)
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield collector
        finally:
            over.set()
            server.shutdown()
            thread.join()


def facts(span: Any) -> dict[str, Any]:
    return {item.key: item.value.string_value or item.value.int_value for item in span.attributes}
