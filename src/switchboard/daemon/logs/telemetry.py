"""Whether telemetry is wanted, which costs nothing to say no to."""

import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from switchboard.core.bus import EventBus

if TYPE_CHECKING:
    from switchboard.daemon.logs.otel import Telemetry

_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


def telemetry_for(environ: Mapping[str, str]) -> "Telemetry | None":
    """The exporter that the standard variables ask for, if they do."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    traces, metrics = _is_wanted(environ, "TRACES"), _is_wanted(environ, "METRICS")
    if not traces and not metrics:
        return None
    try:
        # The library is large, and few export anything.
        from switchboard.daemon.logs.otel import Telemetry  # noqa: PLC0415
    except ImportError as error:
        sys.stderr.write(
            f"warning: {_ENDPOINT} is set, but OpenTelemetry is not installed ({error.name})\n"
            'hint: pip install "switchboard-mcp[otel]"\n'
        )
        return None
    return Telemetry(environ, traces=traces, metrics=metrics)


@contextmanager
def exporting(events: EventBus, environ: Mapping[str, str]) -> Generator[None]:
    """Export what happens on this bus, if that is wanted, and at the end what is left."""
    telemetry = telemetry_for(environ)
    if telemetry is None:
        yield
        return
    events.subscribe(telemetry)
    try:
        yield
    finally:
        telemetry.close()


def _is_wanted(environ: Mapping[str, str], signal: str) -> bool:
    named = environ.get(_ENDPOINT) or environ.get(f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT")
    return bool(named) and environ.get(f"OTEL_{signal}_EXPORTER", "otlp").strip() != "none"
