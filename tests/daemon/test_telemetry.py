"""Traces and metrics go to an OTLP collector when the standard variables name one."""

import asyncio
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from support.daemons import shim
from support.workspace import Workspace, child_command


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
def collecting() -> Generator[Collector]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            collector.received.append((self.path, dict(self.headers.items()), body))
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
            server.shutdown()
            thread.join()


def facts(span: Any) -> dict[str, Any]:
    return {item.key: item.value.string_value or item.value.int_value for item in span.attributes}


@pytest.mark.parametrize("how", ["daemon", "in-process"])
async def test_calls_sessions_and_children_are_exported(workspace: Workspace, how: str) -> None:
    workspace.child("mortal", child_command("misbehaving_child", "dies-on-tool"))
    words = ("--in-process",) if how == "in-process" else ()
    with collecting() as collector:
        env = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
            "OTEL_EXPORTER_OTLP_HEADERS": "x-key=open",
            "OTEL_SERVICE_NAME": "my-board",
        }
        async with shim(workspace, *words, env=env) as client:
            await client.call_subtool("echo_suite", "echo", {"text": "hush hush"})
            await client.call_subtool("echo_suite", "fail", {})
            await client.call_subtool("mortal_suite", "die")
            assert await client.close() == 0
        await asyncio.to_thread(workspace.stop_daemon)
        spans = {span.name: facts(span) for span in collector.spans()}
        good, bad = spans["tools/call echo"], spans["tools/call fail"]
        assert good["mcp.method.name"] == "tools/call"
        assert good["gen_ai.tool.name"] == "echo"
        assert good["mcp.protocol.version"] == "2025-11-25"
        assert good["mcp.session.id"]
        assert good["switchboard.suite"] == "echo_suite"
        assert "error.type" not in good
        assert bad["error.type"] == "tool_error"
        assert spans["tools/call die"]["error.type"] == "unavailable"
        assert "initialize echo" in spans
        metrics = collector.metrics()
        points = metrics["mcp.server.operation.duration"].histogram.data_points
        assert sum(point.count for point in points) == 3
        assert "mcp.server.session.duration" in metrics
        assert "switchboard.children.running" in metrics
        assert "switchboard.gate.refusals" in metrics
        assert collector.services() == {"my-board"}
        assert {headers.get("x-key") for _, headers, _ in collector.received} == {"open"}
        # What was called with what is nobody's business.
        assert not any(b"hush" in body for _, _, body in collector.received)


@pytest.mark.parametrize(
    "off", [{}, {"OTEL_SDK_DISABLED": "true"}, {"OTEL_TRACES_EXPORTER": "none"}]
)
def test_off_loads_nothing(workspace: Workspace, off: dict[str, str]) -> None:
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"} if off else {}
    if "OTEL_TRACES_EXPORTER" in off:
        off = {**off, "OTEL_METRICS_EXPORTER": "none"}
    program = (
        "import sys\nfrom switchboard.entry import main\nmain(['mcp', '--in-process'])\n"
        "sys.stderr.write('\\n'.join(('', *sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**workspace.env, **env, **off},
        cwd=workspace.root,
        check=True,
    )
    assert not any(name.startswith("opentelemetry") for name in done.stderr.split())


async def test_a_collector_that_is_not_there_stops_nobody(workspace: Workspace) -> None:
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_TIMEOUT": "1"}
    async with shim(workspace, env=env) as client:
        assert set(await client.tools()) == {"echo_suite"}
        result = await client.call_subtool("echo_suite", "echo", {"text": "still here"})
        assert not result.get("isError")
        assert await client.close() == 0
