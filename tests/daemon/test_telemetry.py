"""Traces and metrics go to an OTLP collector when the standard variables name one."""

import asyncio
import subprocess
import sys

import pytest

from support.daemons import shim
from support.otlp import collecting, facts
from support.workspace import Workspace, child_command


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
