"""Workers of a team: what any gateway takes in is done by one of them, in its turn."""

import asyncio
import signal
import time

import pytest

from cli.commands import Finished, switchboard
from gate.over_http import connected
from support.postgres import Cluster
from support.processes import alive, until_gone, until_true
from support.workspace import Workspace
from switchboard.postgres.address import DatabaseAddress
from team.ground import SECRET, TOKEN, gateway
from team.staff import SHORT_LEASE, Staff, begun, ended, run_of, worker

MODERN = "2026-07-28"
SIDE_BY_SIDE = "[runs]\nparallel_writes = true\n"


@pytest.mark.parametrize("version", [MODERN, "2025-11-25"])
async def test_a_run_of_one_gateway_is_done_by_a_worker_and_waited_for_at_another(
    workspace: Workspace, database: DatabaseAddress, version: str
) -> None:
    staff = Staff(workspace)
    async with (
        gateway(staff, database) as first,
        gateway(staff, database) as second,
        worker(staff, database) as hired,
        connected(first.url, version, None, token=TOKEN) as one,
        connected(second.url, version, None, token=TOKEN) as other,
    ):
        run = await begun(one, staff, "fail", "one")
        [line] = await staff.until("begin", "one")
        assert alive(line.pid)
        # What opens the state of the team is not for its agents.
        seen = (staff.folder / "environment").read_text("utf-8")
        assert "PATH" in seen
        assert not [word for word in (SECRET, database.url, TOKEN) if word in seen]
        waiting = asyncio.ensure_future(ended(other, run))
        staff.let_end("one")
        assert await waiting == ("completed", "did one")
        assert await ended(one, run) == ("completed", "did one")
        assert len(staff.of("begin")) == 1
        hired.process.send_signal(signal.SIGTERM)
        assert await hired.code() == 0
        await until_gone([line.pid])


async def test_a_run_outlives_the_gateway_that_took_it_in_and_is_found_by_its_request(
    workspace: Workspace, database: DatabaseAddress
) -> None:
    staff = Staff(workspace)
    async with (
        gateway(staff, database) as first,
        gateway(staff, database) as second,
        worker(staff, database),
        worker(staff, database),
        connected(second.url, MODERN, None, token=TOKEN) as client,
    ):
        given = {"task": "one", "cwd": str(workspace.root)}

        async def lost() -> None:
            async with connected(first.url, MODERN, None, token=TOKEN) as one:
                while True:
                    await one.call_tool("agent_fail", given)

        waiting = asyncio.ensure_future(lost())
        [line] = await staff.until("begin", "one")
        first.process.kill()
        await asyncio.wait({waiting})
        assert waiting.exception() is not None
        assert alive(line.pid)
        # The same request, sent again to who is left.
        run = await begun(client, staff, "fail", "one")
        staff.let_end("one")
        assert await ended(client, run) == ("completed", "did one")
    assert len(staff.of("begin")) == 1


async def test_without_a_worker_a_run_waits_for_one(
    workspace: Workspace, database: DatabaseAddress
) -> None:
    staff = Staff(workspace)
    staff.let_end("one")
    async with (
        gateway(staff, database) as first,
        connected(first.url, MODERN, None, token=TOKEN) as client,
    ):
        run = await begun(client, staff, "fail", "one")
        shown = run_of(await client.call_tool("run_status", {"run_id": run}))
        assert shown["state"] == "queued"
        async with worker(staff, database):
            assert await ended(client, run) == ("completed", "did one")


async def test_any_gateway_cancels_what_works_and_what_waits(
    workspace: Workspace, database: DatabaseAddress
) -> None:
    staff = Staff(workspace)
    async with (
        gateway(staff, database) as first,
        gateway(staff, database) as second,
        worker(staff, database),
        connected(first.url, MODERN, None, token=TOKEN) as one,
        connected(second.url, MODERN, None, token=TOKEN) as other,
    ):
        working = await begun(one, staff, "retry", "one")
        waiting = await begun(one, staff, "retry", "two")
        [line] = await staff.until("begin", "one")
        for run in (waiting, working):
            asked_at = time.monotonic()
            await other.call_tool("run_cancel", {"run_id": run})
            assert (await ended(one, run))[0] == "cancelled"
        await until_gone([line.pid])
        assert time.monotonic() - asked_at < 5.0
        # A run after it shows that the one which waited is not merely late.
        staff.let_end("three")
        assert await ended(one, await begun(one, staff, "retry", "three")) == (
            "completed",
            "did three",
        )
        assert not staff.of("begin", "two")


async def test_runs_that_may_write_in_one_workspace_wait_for_each_other_on_all_workers(
    workspace: Workspace, database: DatabaseAddress
) -> None:
    staff = Staff(workspace)
    tasks = [f"t{number}" for number in range(4)]
    async with (
        gateway(staff, database) as first,
        worker(staff, database),
        worker(staff, database),
        connected(first.url, MODERN, None, token=TOKEN) as client,
    ):
        runs = [await begun(client, staff, "fail", task) for task in tasks]
        for count in range(1, len(tasks) + 1):
            await until_true(lambda count=count: len(staff.of("begin")) == count)
            staff.let_end(staff.of("begin")[-1].task)
        for run, task in zip(runs, tasks, strict=True):
            assert await ended(client, run) == ("completed", f"did {task}")
    whats = [line.what for line in staff.log() if line.what != "tick"]
    assert whats == ["begin", "end"] * len(tasks)


async def test_a_worker_takes_its_queues_alone_as_many_as_it_may_and_the_urgent_first(
    workspace: Workspace, database: DatabaseAddress, postgres: Cluster
) -> None:
    more = f'{SIDE_BY_SIDE}queue = "big"\npriorities = {{ resume = 1, default = 5 }}\n'
    staff = Staff(workspace, more)
    async with (
        gateway(staff, database) as first,
        connected(first.url, MODERN, None, token=TOKEN) as client,
        worker(staff, database),
    ):
        late = [await begun(client, staff, "fail", f"late{number}") for number in range(3)]
        urgent = await begun(client, staff, "resume", "urgent")
        found = postgres.run("SELECT DISTINCT owner FROM switchboard.runs", database)
        assert found == [("",)]
        async with worker(staff, database, "--queue", "big", "--max-runs", "2"):
            await until_true(lambda: len(staff.of("begin")) == 2)
            # Of two that begin side by side either may say so first.
            assert {line.task for line in staff.of("begin")} == {"urgent", "late0"}
            staff.let_end("urgent")
            assert await ended(client, urgent) == ("completed", "did urgent")
            await staff.until("begin", "late1")
            assert not staff.of("begin", "late2")
            staff.let_end("late0", "late1", "late2")
            for number, run in enumerate(late):
                assert await ended(client, run) == ("completed", f"did late{number}")


async def test_a_worker_that_is_asked_to_stop_ends_with_its_last_run_and_takes_no_other(
    workspace: Workspace, database: DatabaseAddress
) -> None:
    staff = Staff(workspace, SIDE_BY_SIDE)
    async with (
        gateway(staff, database) as first,
        worker(staff, database) as leaving,
        connected(first.url, MODERN, None, token=TOKEN) as client,
    ):
        run = await begun(client, staff, "fail", "one")
        await staff.until("begin", "one")
        leaving.process.send_signal(signal.SIGTERM)
        after = await begun(client, staff, "fail", "two")
        staff.let_end("one", "two")
        assert await ended(client, run) == ("completed", "did one")
        assert await leaving.code() == 0
        assert not staff.of("begin", "two")
        async with worker(staff, database):
            assert await ended(client, after) == ("completed", "did two")


async def test_what_a_hurried_worker_leaves_is_taken_up_at_once(
    workspace: Workspace, database: DatabaseAddress
) -> None:
    """The second signal, or the end of `--drain`."""
    staff = Staff(workspace, SIDE_BY_SIDE)
    async with (
        gateway(staff, database) as first,
        worker(staff, database, "--drain", "0") as leaving,
        connected(first.url, MODERN, None, token=TOKEN) as client,
    ):
        kept = await begun(client, staff, "retry", "kept")
        lost = await begun(client, staff, "fail", "lost")
        await staff.until("begin", "kept")
        await staff.until("begin", "lost")
        leaving.process.send_signal(signal.SIGTERM)
        assert await leaving.code() == 0
        assert (await ended(client, lost))[0] == "failed"
        staff.let_end("kept", "lost")
        async with worker(staff, database):
            assert await ended(client, kept) == ("completed", "did kept")
    assert (len(staff.of("begin", "kept")), len(staff.of("begin", "lost"))) == (2, 1)


async def test_a_run_whose_agent_has_changed_since_is_done_by_nobody_and_says_so(
    workspace: Workspace, database: DatabaseAddress
) -> None:
    staff = Staff(workspace)
    staff.let_end("one", "two")
    async with (
        gateway(staff, database, env=SHORT_LEASE) as first,
        connected(first.url, MODERN, None, token=TOKEN) as client,
    ):
        run = await begun(client, staff, "fail", "one")
        file = workspace.home / "agents" / "fail.toml"
        file.write_text(f'{file.read_text("utf-8")}instructions = "Another one."\n', "utf-8")
        async with worker(staff, database):
            state, output = await ended(client, run)
            assert (state, staff.of("begin", "one")) == ("failed", [])
            assert "has changed since the run was started" in output
            # What is asked for now is done.
            after = await begun(client, staff, "fail", "two")
            assert await ended(client, after) == ("completed", "did two")


async def test_the_desk_of_a_team_lists_shows_and_cancels_its_runs(
    workspace: Workspace, database: DatabaseAddress
) -> None:
    staff = Staff(workspace)
    env = {"SWITCHBOARD_DB": database.url}

    async def typed(*words: str) -> Finished:
        done = await asyncio.to_thread(switchboard, workspace, "runs", *words, "--json", env=env)
        assert done.out, done.err
        return done

    async with (
        gateway(staff, database) as first,
        worker(staff, database),
        connected(first.url, MODERN, None, token=TOKEN) as client,
    ):
        run = await begun(client, staff, "fail", "one")
        await staff.until("begin", "one")
        listed = (await typed("list")).report["runs"]
        assert [(each["id"], each["state"]) for each in listed] == [(run, "working")]
        await typed("cancel", run)
        assert (await typed("show", run)).report["run"]["state"] == "cancelled"
        assert (await ended(client, run))[0] == "cancelled"
    # Those of the home are others.
    assert switchboard(workspace, "runs", "list", "--json").report["runs"] == []


def test_a_worker_that_lacks_something_says_what_and_does_not_start(
    workspace: Workspace, database: DatabaseAddress
) -> None:
    env = {"SWITCHBOARD_DB": database.url, "SWITCHBOARD_TEAM_KEY": "k" * 32}
    for words, variables, says in (
        ((), {}, "a worker belongs to a team"),
        (("--max-runs", "0"), env, "`--max-runs` is a number from 1 to 64"),
        (("--db", "postgresql://sb:canary@127.0.0.1/x"), {}, "no password belongs there"),
        ((), env | {"SWITCHBOARD_TEAM_KEY": ""}, "a team has a secret"),
        ((), env | {"SWITCHBOARD_TEAM_LEASE": "1"}, "a number of seconds from 3 to 60"),
        ((), env, "there are no agents here"),
    ):
        done = switchboard(workspace, "worker", *words, env=variables)
        assert done.code != 0
        assert says in done.err
        assert "canary" not in done.err
