"""Command tools with chosen hosts."""

import sys
from pathlib import Path

import pytest

from commands.bench import Bench, text_of
from egress.world import Site
from switchboard.core.faults import Fault

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
