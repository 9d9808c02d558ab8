"""What a gateway tells those who watch it: traces that go on, and lines that a program reads."""

import asyncio
import json
import time
from typing import Any

import httpx2
import pytest

from support.otlp import Collector, collecting, facts
from support.processes import until_true
from support.workspace import Json, Workspace, child_command
from switchboard.core.calls.trace_context import is_traceparent, trace_members, traceparent_in
from switchboard.postgres.address import DatabaseAddress
from team.callers import ACCEPTS, SESSION, answer_in, called, initialize, modern, text_in
from team.ground import PATIENCE, TOKEN, gateway, http_client

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{SPAN}-01"
OTHER = f"00-{'a' * 32}-{'b' * 16}-01"


class Watched:
    """A workspace with a server that tells what it was told beside its arguments."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        workspace.child("frank", child_command("frank_child", "handshake", "frank"))


async def meta_told(
    http: httpx2.AsyncClient, url: str, headers: dict[str, str], **meta: str
) -> Json:
    """Call, and give the `_meta` that the server got."""
    body, own = modern(called("frank", "meta"))
    body["params"]["_meta"] |= {"example.org/note": "canary-of-a-note", **meta}
    answer = answer_in(await http.post(url, json=body, headers={**own, **headers}))
    assert not answer["result"].get("isError"), answer
    return json.loads(text_in(answer))


async def test_a_call_belongs_to_the_trace_of_its_client_and_so_does_its_server(
    workspace: Workspace, database: DatabaseAddress
) -> None:
    with collecting() as collector:
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
        async with gateway(Watched(workspace), database, env=env) as running, http_client() as http:
            header = {"traceparent": PARENT, "tracestate": "vendor=1"}
            told = [
                await meta_told(http, running.url, header),
                await meta_told(http, running.url, {}, traceparent=OTHER),
                await meta_told(http, running.url, header, traceparent=OTHER),
                await meta_told(http, running.url, {"traceparent": "00-canary"}),
            ]
            # In a session, whose requests have headers of their own.
            begun = await http.post(running.url, json=initialize(), headers=ACCEPTS)
            session = {**ACCEPTS, SESSION: begun.headers[SESSION], "traceparent": PARENT}
            call = called("frank", "meta")
            answer = await http.post(running.url, json=call, headers=session)
            told.append(json.loads(text_in(answer_in(answer))))
        spans = [span for span in collector.spans() if span.name == "tools/call meta"]
    assert [each.get("traceparent") for each in told] == [PARENT, OTHER, OTHER, None, PARENT]
    assert told[0]["tracestate"] == "vendor=1"
    parents = [(span.trace_id.hex(), span.parent_span_id.hex()) for span in spans]
    assert parents[:3] == [(TRACE, SPAN), ("a" * 32, "b" * 16), ("a" * 32, "b" * 16)]
    assert parents[3][1] == ""
    assert parents[4] == (TRACE, SPAN)
    assert told_nothing(collector)
    assert facts(spans[0])["switchboard.suite"] == "frank_suite"


def told_nothing(collector: Collector) -> bool:
    """No argument, result or secret."""
    return not any(
        word in body
        for _, _, body in collector.received
        for word in (b"canary", TOKEN.encode(), b"progressToken")
    )


async def test_a_collector_that_never_answers_delays_no_call_and_not_the_end(
    workspace: Workspace, database: DatabaseAddress
) -> None:
    with collecting(answers=False) as collector:
        env = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
            # So that it hangs from the first calls on.
            "OTEL_BSP_SCHEDULE_DELAY": "10",
            "OTEL_METRIC_EXPORT_INTERVAL": "50",
            "OTEL_BSP_MAX_QUEUE_SIZE": "8",
            "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "4",
        }
        async with gateway(Watched(workspace), database, env=env) as running, http_client() as http:
            await meta_told(http, running.url, {})
            await until_true(lambda: len(collector.received) >= 2)
            began = time.monotonic()
            for _ in range(40):
                await meta_told(http, running.url, {})
            # It would be ten seconds for each that waited for it.
            assert time.monotonic() - began < 10
            running.process.terminate()
            asked = time.monotonic()
            async with asyncio.timeout(PATIENCE):
                await running.process.wait()
            # The library alone would wait for it for half a minute and more.
            assert time.monotonic() - asked < 15


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        (PARENT, True),
        (f"01-{TRACE}-{SPAN}-00-more", True),
        (f"ff-{TRACE}-{SPAN}-00", False),
        (f"00-{'0' * 32}-{SPAN}-01", False),
        (f"00-{TRACE}-{'0' * 16}-01", False),
        (PARENT.upper(), False),
        (f'{PARENT}","x":"y', False),
        (PARENT + "\n", False),
        ("", False),
    ],
)
def test_what_is_no_traceparent_is_none(text: str, is_one: bool) -> None:
    assert is_traceparent(text) is is_one
    assert (trace_members(text, None) != b"") is is_one
    said = b'"traceparent":%b,' % json.dumps(text).encode()
    assert traceparent_in(b'"other":{"traceparent":"x"},' + said) == (text if is_one else "")


def test_members_that_are_no_json_and_a_state_with_quotes_are_left_out() -> None:
    assert traceparent_in(b'"traceparent":[1],') == ""
    assert traceparent_in(b'"a":{"traceparent":"%b"},' % PARENT.encode()) == ""
    assert trace_members(PARENT, 'a="b"') == b'"traceparent":"%b",' % PARENT.encode()


async def test_lines_of_the_log_are_objects_with_the_ids_of_calls_and_sessions_and_no_secret(
    workspace: Workspace, database: DatabaseAddress
) -> None:
    env = {"TRACING_JSON": "1", "RUST_LOG": "debug"}
    async with gateway(Watched(workspace), database, env=env) as running, http_client() as http:
        await meta_told(http, running.url, {})
        begun = await http.post(running.url, json=initialize(), headers=ACCEPTS)
        session = {**ACCEPTS, SESSION: begun.headers[SESSION]}
        await http.post(running.url, json=called("frank", "meta"), headers=session)
        running.process.terminate()
        await running.process.wait()
        text = (await running.errors).decode()
    lines: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
    for line in lines:
        assert {"ts", "level", "event"} <= line.keys()
    started = [line for line in lines if line["event"] == "CallStarted"]
    ended = [line for line in lines if line["event"] == "CallFinished"]
    assert [line["call_id"] for line in ended] == [line["call_id"] for line in started]
    assert len({line["session_id"] for line in started}) == 2
    assert [line["outcome"] for line in ended] == ["ok", "ok"]
    [opened] = [line for line in lines if line["event"] == "SessionOpened"]
    assert opened["session_id"] == started[1]["session_id"]
    for secret in ("canary", TOKEN, begun.headers[SESSION]):
        assert secret not in text
