"""Command tools with chosen hosts."""

import asyncio
import sys
from pathlib import Path

import pytest

from commands.bench import Bench, MemoryChannel, text_of
from egress.world import Heard, Site
from switchboard.approvals.approver import Approver
from switchboard.control.decisions import Decisions
from switchboard.control.requests import DecideRequest
from switchboard.core.faults import Fault
from switchboard.daemon.board.guard import Guard

PROGRAM = "import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read().decode())"


async def test_a_command_tool_reaches_its_host_and_the_fault_names_another(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.env["ENABLE_MCP_SERVER_SURFACE"] = "true"
    async with Site().open() as site:
        for name, url in (
            ("own", f"http://localhost:{site.port}/"),
            ("other", "http://evil.test/"),
        ):
            argv = [sys.executable, "-c", PROGRAM, url]
            bench.write(name, argv, egress=[f"localhost:{site.port}"])
        outcome = await bench.call("own")
        assert "hello" in text_of(outcome)
        with pytest.raises(Fault) as caught:
            await bench.call("other")
        assert caught.value.reason == "egress-refused"
        assert "evil.test:80" in caught.value.hint
        assert len(site.requests) == 1


async def test_never_holds_for_a_tool_whatever_its_arguments_are(tmp_path: Path) -> None:
    """An answer for good is bound to the entry as it is written, not to one command line."""
    bench = Bench(tmp_path)
    argv = [sys.executable, "-c", PROGRAM, "{url}"]
    schema = {"type": "object", "properties": {"url": {"type": "string"}}}
    bench.write("get", argv, egress=["localhost:1"], egress_ask=True, input_schema=schema)
    guard = bench.guard = Guard(str(bench.place.home), Heard())
    try:
        async with Site().open() as site:
            channel = MemoryChannel()
            url = f"http://localhost:{site.port}"
            calling = asyncio.ensure_future(bench.call("get", {"url": f"{url}/a"}, channel=channel))
            async with asyncio.timeout(30):
                with guard.approvals.subscribe() as news:
                    while not (waiting := await guard.approvals.waiting()):
                        await news.changed(1)
            question = waiting[0].question
            assert f"{url}/a" in question.facts.runs
            # The call under way says what it waits for.
            assert question.id in channel.steps[0]["message"]
            wanted = DecideRequest(id=question.id, approves=False, extent="always")
            decisions = Decisions(guard.approvals, guard.audit, str(bench.place.home))
            await decisions.decide(wanted, Approver.of_this_process())
            for call in (calling, bench.call("get", {"url": f"{url}/b"})):
                with pytest.raises(Fault) as caught:
                    await call
                assert "you said never" in caught.value.message
            assert len(await guard.approvals.recent()) == 1
            assert site.requests == []
    finally:
        await guard.aclose()
