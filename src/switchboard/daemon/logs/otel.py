"""Traces and metrics of calls, sessions and children, in the words of OpenTelemetry for MCP.

One subscriber of the events; nothing else knows of it. Loaded only when the standard variables name
an endpoint, because the library is large and costs every call a little.
"""

import threading
import time
from collections.abc import Mapping
from typing import Any

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from switchboard import __version__
from switchboard.core.events import (
    CallFinished,
    CallNarrowed,
    CallStarted,
    ChildExited,
    ChildFailed,
    ChildStarted,
    ConfigRejected,
    Event,
    SessionClosed,
    SessionOpened,
)

_SCOPE = "switchboard"
_METHOD = "tools/call"
_NS = 1_000_000_000
# The buckets that the conventions recommend, in seconds.
_BUCKETS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
_FLUSH_MS = 2_000
_GOODBYE_S = 5.0
_PROPAGATOR = TraceContextTextMapPropagator()

Attributes = dict[str, Any]


class Telemetry:
    """A subscriber that exports over OTLP/HTTP. The library reads its own variables."""

    def __init__(self, environ: Mapping[str, str], *, traces: bool, metrics: bool) -> None:
        resource = Resource.create(_own_attributes(environ))
        self._traces = TracerProvider(resource=resource, shutdown_on_exit=False)
        if traces:
            self._traces.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        readers = [PeriodicExportingMetricReader(OTLPMetricExporter())] if metrics else []
        self._metrics = MeterProvider(
            resource=resource, metric_readers=readers, shutdown_on_exit=False
        )
        self._tracer = self._traces.get_tracer(_SCOPE, __version__)
        meter = self._metrics.get_meter(_SCOPE, __version__)
        self._calls = meter.create_histogram(
            "mcp.server.operation.duration",
            unit="s",
            description="How long a request took, as the server saw it.",
            explicit_bucket_boundaries_advisory=_BUCKETS,
        )
        self._sessions = meter.create_histogram(
            "mcp.server.session.duration",
            unit="s",
            description="How long a session lasted, as the server saw it.",
            explicit_bucket_boundaries_advisory=_BUCKETS,
        )
        self._running = meter.create_up_down_counter(
            "switchboard.children.running", description="Children that run now."
        )
        self._exits = meter.create_counter(
            "switchboard.child.exits", description="Children that ended or did not start."
        )
        self._refusals = meter.create_counter(
            "switchboard.gate.refusals", description="Calls that ended with a fault, by its reason."
        )
        self._open: dict[str, tuple[Span, Attributes]] = {}
        self._opened_at: dict[str, tuple[float, str]] = {}

    def __call__(self, event: Event, /) -> None:
        match event:
            case CallStarted():
                self._begin_call(event)
            case CallNarrowed():
                self._narrow_call(event)
            case CallFinished():
                self._end_call(event)
            case SessionOpened():
                self._opened_at[event.session_id] = (time.monotonic(), event.via)
            case SessionClosed():
                self._end_session(event)
            case ChildStarted() | ChildExited() | ChildFailed():
                self._note_child(event)
            case ConfigRejected():
                self._refusals.add(1, {"error.type": "config-rejected"})
            case _:
                return

    def _begin_call(self, event: CallStarted) -> None:
        attributes: Attributes = {
            "mcp.method.name": _METHOD,
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": event.tool,
            "network.transport": "pipe",
        }
        if event.protocol:
            attributes["mcp.protocol.version"] = event.protocol
        span = self._tracer.start_span(
            f"{_METHOD} {event.tool}",
            context=_begun_by(event.traceparent),
            kind=SpanKind.SERVER,
            attributes={
                **attributes,
                "mcp.session.id": event.session_id,
                "switchboard.call.id": event.call_id,
            },
        )
        self._open[event.call_id] = (span, attributes)

    def _narrow_call(self, event: CallNarrowed) -> None:
        """A suite call is seen as the subtool that it stands for."""
        opened = self._open.get(event.call_id)
        if opened is None:
            return
        span, attributes = opened
        attributes["gen_ai.tool.name"] = event.tool
        attributes["switchboard.suite"] = event.suite
        span.update_name(f"{_METHOD} {event.tool}")
        span.set_attributes({"gen_ai.tool.name": event.tool, "switchboard.suite": event.suite})
        span.add_event("switchboard.gate.narrowing")

    def _end_call(self, event: CallFinished) -> None:
        opened = self._open.pop(event.call_id, None)
        if opened is None:
            return
        span, attributes = opened
        if event.outcome != "ok":
            # A result with `isError` is a `tool_error` to the conventions.
            kind = "tool_error" if event.outcome == "error" else event.outcome
            attributes["error.type"] = kind
            span.set_attribute("error.type", kind)
            span.set_status(Status(StatusCode.ERROR, event.reason or None))
            if event.reason:
                span.add_event("switchboard.gate.refusal", {"reason": event.reason})
                self._refusals.add(1, {"error.type": event.reason})
        self._calls.record(event.duration_s, attributes)
        span.end()

    def _end_session(self, event: SessionClosed) -> None:
        opened_at, via = self._opened_at.pop(event.session_id, (None, ""))
        if opened_at is not None:
            attributes = {"network.transport": "tcp" if via.startswith("http") else "pipe"}
            self._sessions.record(time.monotonic() - opened_at, attributes)

    def _note_child(self, event: ChildStarted | ChildExited | ChildFailed) -> None:
        attributes: Attributes = {"switchboard.child": event.child}
        if isinstance(event, ChildStarted):
            self._running.add(1, attributes)
            now = time.time_ns()
            span = self._tracer.start_span(
                f"initialize {event.child}",
                kind=SpanKind.CLIENT,
                start_time=now - int(event.duration_s * _NS),
                attributes={
                    **attributes,
                    "mcp.method.name": "initialize",
                    "mcp.protocol.version": event.protocol,
                    "process.pid": event.pid,
                },
            )
            span.end(now)
            return
        if isinstance(event, ChildExited):
            self._running.add(-1, attributes)
            if event.expected:
                return
        reason = "child-exited" if isinstance(event, ChildExited) else event.reason
        self._exits.add(1, {**attributes, "error.type": reason})

    def close(self) -> None:
        """Send what is left, in bounded time.

        A collector that does not answer would keep the library for longer than it was told.
        """
        ending = threading.Thread(target=self._end, name="telemetry", daemon=True)
        ending.start()
        ending.join(_GOODBYE_S)

    def _end(self) -> None:
        self._traces.force_flush(_FLUSH_MS)
        self._metrics.force_flush(_FLUSH_MS)
        self._traces.shutdown()
        self._metrics.shutdown(_FLUSH_MS)


def _begun_by(traceparent: str) -> Context:
    """The trace of the client, or none: nothing else that goes on here is part of it."""
    return _PROPAGATOR.extract({"traceparent": traceparent}, context=Context())


def _own_attributes(environ: Mapping[str, str]) -> Attributes:
    attributes: Attributes = {"service.version": __version__}
    given = environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    if not environ.get("OTEL_SERVICE_NAME") and "service.name=" not in given:
        attributes["service.name"] = "switchboard"
    return attributes
