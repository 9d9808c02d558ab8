"""The real Codex on workers of a team, with a model that plays on loopback."""

import json

from agents.real_codex import configure, playing
from agents.test_restart import at_first
from gate.over_http import connected
from support.models.script import Hang, say
from support.postgres import Cluster
from support.processes import descendants_of, until_gone, until_true
from support.workspace import Workspace
from switchboard.postgres.address import DatabaseAddress
from team.ground import TOKEN, gateway
from team.staff import SHORT_LEASE, Crew, ended, run_of, worker

MODERN = "2026-07-28"


async def test_codex_goes_on_with_its_conversation_when_its_worker_was_killed(
    workspace: Workspace, database: DatabaseAddress, postgres: Cluster
) -> None:
    configure(workspace, "patience = { default = 1 }\n")
    agent = workspace.home / "agents" / "reviewer.toml"
    agent.write_text(agent.read_text("utf-8").replace("name =", 'on_crash = "resume"\nname =', 1))
    crew = Crew(workspace)
    with playing(workspace, at_first(Hang(), say("two bugs"))) as model:
        async with (
            gateway(crew, database, env=SHORT_LEASE) as first,
            worker(crew, database) as one,
            worker(crew, database) as two,
            connected(first.url, MODERN, None, token=TOKEN) as client,
        ):
            given = {"task": "look for newts", "cwd": str(workspace.root)}
            run = run_of(await client.call_tool("agent_reviewer", given))["id"]
            await until_true(lambda: bool(model.requests))
            wanted = "SELECT thread_id, owner FROM switchboard.runs"
            await until_true(lambda: bool(postgres.run(wanted, database)[0][0]))
            [[thread, owner]] = postgres.run(wanted, database)
            doomed = one if one.id == owner else two
            family = descendants_of(doomed.process.pid)
            doomed.process.kill()
            await until_gone(family)
            assert await ended(client, run) == ("completed", "two bugs")
            [[after, heir]] = postgres.run(wanted, database)
    assert (after, heir) == (thread, two.id if doomed is one else one.id)
    last = json.dumps(model.requests[-1])
    assert "look for newts" in last
    assert "You were interrupted" in last
