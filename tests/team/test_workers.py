"""Workers of a team: what any gateway takes in is done once, whatever becomes of who does it."""

from support.workspace import Workspace
from switchboard.postgres.address import DatabaseAddress
from gate.over_http import connected
from team.ground import TOKEN, gateway
from team.staff import OF_TEAM, Staff, begun, ended, worker

MODERN = "2026-07-28"


async def test_a_run_of_a_gateway_is_done_by_a_worker(
    workspace: Workspace, database: DatabaseAddress
) -> None:
    staff = Staff(workspace)
    async with (
        gateway(staff, database, env=OF_TEAM) as first,
        worker(staff, database),
        connected(first.url, MODERN, None, token=TOKEN) as client,
    ):
        run = await begun(client, staff, "fail", "one")
        [line] = await staff.until("begin", "one")
        staff.let_end("one")
        assert await ended(client, run) == {"ok": True, "output": "did one"}
