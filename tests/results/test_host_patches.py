"""Real Codex and Claude Code send a kept result on with a change, and a person sees which."""

import asyncio
import re

import pytest

from find.test_host_runs import HOSTS, READ, WRITE, ended, learned
from results.conftest import Wiki
from support.models.script import Reply, Situation, Stumble, say, use
from support.requirements import attack

_HANDLE = re.compile(r"as (r1-[0-9a-f]{12}): ")
_SETTINGS = """
enable_mcp_server_surface = true
surface_tokens = "lean"
approval_channel = "console"
[results]
mode = "passthrough"
inline_tokens = 1000
handles = "always"
"""


@attack("T16")
@pytest.mark.parametrize("name", HOSTS)
async def test_a_person_sees_what_a_host_changes_of_a_result(name: str, wiki: Wiki) -> None:
    wiki.gate.workspace.config_toml(_SETTINGS, scope="home")
    host = HOSTS[name]
    board = await learned(wiki.gate)
    patch = [{"op": "replace", "path": "/1/title", "value": "Another title"}]

    def send(situation: Situation) -> Reply | Stumble:
        found = _HANDLE.search(model.results[-1])
        assert found is not None, model.results
        body = {"$result": found[1], "path": "/body", "patch": patch}
        return use(WRITE, tool="wiki.save", args={"body": body})(situation)

    reading = use(READ, tool="wiki.page", args={"sections": 150})
    with host.model(reading, send, say("done")) as model:
        work = host.run(host.program(), model, wiki.gate.workspace, board)
        running = asyncio.ensure_future(work)
        [entry] = await wiki.gate.waiting(meanwhile=running)
        shown = (await wiki.gate.type("approvals", "show", entry["id"])).out
        sent, _, changed = shown.partition("From earlier results:")
        assert [n for n in range(2, 150) if f'"title": "Section {n}"' not in sent] == []
        assert '"title": "Another title"' in sent
        assert '| -    "title": "Section 1"' in changed
        assert '| +    "title": "Another title"' in changed
        assert not wiki.file.exists()
        await wiki.gate.decide("approve")
        ended(await running)
    assert "saved" in model.results[-1]
    assert wiki.saved["body"][1] == {"id": 1, "title": "Another title"}
    assert len(wiki.saved["body"]) == 150
