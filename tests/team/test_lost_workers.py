"""Workers that are killed, stopped or cut off: another goes on, and nothing is done twice."""

import signal
import time
from collections.abc import Callable
from itertools import pairwise

import pytest

from gate.over_http import connected
from support.postgres import Cluster
from support.processes import until_gone, until_true
from support.workspace import Workspace
from switchboard.postgres.address import DatabaseAddress
from team.cable import cable
from team.ground import TOKEN, gateway
from team.staff import LEASE_S, SHORT_LEASE, Hired, Staff, begun, ended, worker

MODERN = "2026-07-28"
# What a takeover may take: the judge of the whole.
TAKEOVER_S = LEASE_S + 5.0
LAPSED = 75


def owner_of(postgres: Cluster, database: DatabaseAddress, run: str) -> str:
    [[owner]] = postgres.run(f"SELECT owner FROM switchboard.runs WHERE id = '{run}'", database)
    return str(owner)


def noted(postgres: Cluster, database: DatabaseAddress) -> list[tuple[object, ...]]:
    """Which attempts DBOS knows, and whose they are. It is launched with the first run."""
    [[is_there]] = postgres.run("SELECT to_regclass('dbos.workflow_status') IS NOT NULL", database)
    wanted = "SELECT workflow_uuid, executor_id FROM dbos.workflow_status"
    return postgres.run(wanted, database) if is_there else []


async def of(hired: tuple[Hired, Hired], owner: Callable[[], str]) -> tuple[Hired, Hired]:
    """The worker that has the run, and the other one."""
    await until_true(lambda: owner() in {each.id for each in hired})
    first, second = hired
    return (first, second) if owner() == first.id else (second, first)


def no_overlap(staff: Staff, task: str) -> None:
    """Whoever began first was silent before the next one began."""
    lines = [line for line in staff.log() if line.task == task]
    pids = list(dict.fromkeys(line.pid for line in lines))
    for before, after in pairwise(pids):
        last = max(line.at for line in lines if line.pid == before)
        assert last < min(line.at for line in lines if line.pid == after)


@pytest.mark.parametrize("on_crash", ["retry", "resume"])
async def test_a_killed_worker_is_followed_by_another_within_the_lease_and_five_seconds(
    workspace: Workspace,
    database: DatabaseAddress,
    postgres: Cluster,
    on_crash: str,
) -> None:
    staff = Staff(workspace)
    async with (
        gateway(staff, database, env=SHORT_LEASE) as first,
        worker(staff, database) as one,
        worker(staff, database) as two,
        connected(first.url, MODERN, None, token=TOKEN) as client,
    ):
        run = await begun(client, staff, on_crash, "one")
        [line] = await staff.until("begin", "one")
        doomed, heir = await of((one, two), lambda: owner_of(postgres, database, run))
        # The attempt stands in DBOS under the name of its worker, and of no other.
        await until_true(lambda: noted(postgres, database) == [(f"{run}.1", doomed.id)])
        doomed.process.kill()
        killed_at = time.time()
        await until_gone([line.pid])
        word, count = ("loaded", 1) if on_crash == "resume" else ("begin", 2)
        again = await staff.until(word, "one", count)
        took = again[-1].at - killed_at
        assert took < TAKEOVER_S
        assert owner_of(postgres, database, run) == heir.id
        await until_true(lambda: noted(postgres, database) == [(f"{run}.2", heir.id)])
        staff.let_end("one")
        assert await ended(client, run) == ("completed", "did one")
    no_overlap(staff, "one")
    starts = len(staff.of("begin")) + len(staff.of("loaded"))
    assert (starts, len(staff.of("end"))) == (2, 1)


async def test_a_run_that_is_not_to_be_repeated_is_ended_when_its_worker_is_killed(
    workspace: Workspace, database: DatabaseAddress
) -> None:
    staff = Staff(workspace)
    async with (
        gateway(staff, database, env=SHORT_LEASE) as first,
        worker(staff, database) as only,
        connected(first.url, MODERN, None, token=TOKEN) as client,
    ):
        run = await begun(client, staff, "fail", "one")
        [line] = await staff.until("begin", "one")
        only.process.kill()
        await until_gone([line.pid])
        # Nobody is left but the gateway.
        state, output = await ended(client, run)
        assert state == "failed"
        assert "was interrupted because the process that ran it ended" in output
        staff.let_end("two")
        after = await begun(client, staff, "fail", "two")
        async with worker(staff, database):
            assert await ended(client, after) == ("completed", "did two")
    assert len(staff.of("begin", "one")) == 1


async def test_when_all_workers_are_killed_a_new_one_does_what_worked_and_what_waited(
    workspace: Workspace, database: DatabaseAddress
) -> None:
    staff = Staff(workspace)
    async with (
        gateway(staff, database, env=SHORT_LEASE) as first,
        connected(first.url, MODERN, None, token=TOKEN) as client,
    ):
        async with worker(staff, database) as one, worker(staff, database) as two:
            working = await begun(client, staff, "retry", "one")
            waiting = await begun(client, staff, "fail", "two")
            [line] = await staff.until("begin", "one")
            one.process.kill()
            two.process.kill()
            await until_gone([line.pid])
        staff.let_end("one", "two")
        async with worker(staff, database):
            assert await ended(client, working) == ("completed", "did one")
            assert await ended(client, waiting) == ("completed", "did two")
    no_overlap(staff, "one")
    assert (len(staff.of("begin", "one")), len(staff.of("begin", "two"))) == (2, 1)
    assert (len(staff.of("end", "one")), len(staff.of("end", "two"))) == (1, 1)


async def test_a_worker_that_was_stopped_past_its_lease_neither_goes_on_nor_writes(
    workspace: Workspace, database: DatabaseAddress, postgres: Cluster
) -> None:
    staff = Staff(workspace)
    async with (
        gateway(staff, database, env=SHORT_LEASE) as first,
        worker(staff, database) as one,
        worker(staff, database) as two,
        connected(first.url, MODERN, None, token=TOKEN) as client,
    ):
        run = await begun(client, staff, "retry", "one")
        [line] = await staff.until("begin", "one")
        frozen, heir = await of((one, two), lambda: owner_of(postgres, database, run))
        frozen.process.send_signal(signal.SIGSTOP)
        stopped_at = time.time()
        try:
            # Its engine ends without it, before another begins.
            await until_gone([line.pid])
            assert time.time() - stopped_at < LEASE_S
            again = (await staff.until("begin", "one", 2))[-1]
            assert again.at - stopped_at < TAKEOVER_S
        finally:
            frozen.process.send_signal(signal.SIGCONT)
        assert await frozen.code() == LAPSED
        shown = "SELECT state, owner, events FROM switchboard.runs"
        assert postgres.run(shown, database)[0][:2] == ("working", heir.id)
        staff.let_end("one")
        assert await ended(client, run) == ("completed", "did one")
        lines = postgres.run("SELECT data FROM switchboard.events ORDER BY number", database)
    no_overlap(staff, "one")
    assert (len(staff.of("begin")), len(staff.of("end"))) == (2, 1)
    told = [str(data) for [data] in lines if '"state"' in str(data)]
    assert sum('"failed"' in each for each in told) == 0
    assert sum('"completed"' in each for each in told) == 1


async def test_a_worker_that_was_stopped_for_less_than_its_lease_gives_way_all_the_same(
    workspace: Workspace, database: DatabaseAddress
) -> None:
    """Its engine was ended without it: what it would say of that must not be the run's end."""
    staff = Staff(workspace)
    async with (
        gateway(staff, database, env=SHORT_LEASE) as first,
        worker(staff, database) as only,
        connected(first.url, MODERN, None, token=TOKEN) as client,
    ):
        run = await begun(client, staff, "retry", "one")
        [line] = await staff.until("begin", "one")
        only.process.send_signal(signal.SIGSTOP)
        await until_gone([line.pid])
        only.process.send_signal(signal.SIGCONT)
        assert await only.code() == LAPSED
        staff.let_end("one")
        async with worker(staff, database):
            assert await ended(client, run) == ("completed", "did one")
    no_overlap(staff, "one")


async def test_a_worker_whose_link_to_the_database_is_cut_gives_way(
    workspace: Workspace, database: DatabaseAddress, postgres: Cluster
) -> None:
    staff = Staff(workspace)
    async with (
        gateway(staff, database, env=SHORT_LEASE) as first,
        cable(database) as (link, near),
        worker(staff, near) as lost,
        connected(first.url, MODERN, None, token=TOKEN) as client,
    ):
        run = await begun(client, staff, "retry", "one")
        [line] = await staff.until("begin", "one")
        async with worker(staff, database) as heir:
            link.cut()
            cut_at = time.time()
            again = (await staff.until("begin", "one", 2))[-1]
            assert again.at - cut_at < TAKEOVER_S
            await until_gone([line.pid])
            assert await lost.code() == LAPSED
            link.mend()
            assert owner_of(postgres, database, run) == heir.id
            staff.let_end("one")
            assert await ended(client, run) == ("completed", "did one")
    no_overlap(staff, "one")
    assert (len(staff.of("begin")), len(staff.of("end"))) == (2, 1)


async def test_a_database_that_is_back_soon_disturbs_no_run(
    workspace: Workspace, database: DatabaseAddress, postgres: Cluster
) -> None:
    staff = Staff(workspace)
    async with (
        gateway(staff, database) as first,
        worker(staff, database) as only,
        connected(first.url, MODERN, None, token=TOKEN) as client,
    ):
        run = await begun(client, staff, "retry", "one")
        await staff.until("begin", "one")
        postgres.crash()
        postgres.start()
        after = await begun(client, staff, "retry", "two")
        staff.let_end("one", "two")
        assert await ended(client, run) == ("completed", "did one")
        assert await ended(client, after) == ("completed", "did two")
        assert only.process.returncode is None
    assert (len(staff.of("begin", "one")), len(staff.of("begin", "two"))) == (1, 1)


async def test_a_run_that_ends_while_the_database_is_away_is_known_when_it_is_back(
    workspace: Workspace, database: DatabaseAddress, postgres: Cluster
) -> None:
    staff = Staff(workspace)
    async with (
        gateway(staff, database) as first,
        worker(staff, database),
        connected(first.url, MODERN, None, token=TOKEN) as client,
    ):
        run = await begun(client, staff, "retry", "one")
        await staff.until("begin", "one")
        postgres.crash()
        try:
            staff.let_end("one")
            await staff.until("end", "one")
        finally:
            postgres.start()
        assert await ended(client, run) == ("completed", "did one")
    assert (len(staff.of("begin")), len(staff.of("end"))) == (1, 1)


async def test_a_database_that_is_away_for_longer_than_the_lease_ends_workers_and_loses_no_run(
    workspace: Workspace, database: DatabaseAddress, postgres: Cluster
) -> None:
    staff = Staff(workspace)
    async with (
        gateway(staff, database, env=SHORT_LEASE) as first,
        connected(first.url, MODERN, None, token=TOKEN) as client,
    ):
        async with worker(staff, database) as only:
            run = await begun(client, staff, "retry", "one")
            waiting = await begun(client, staff, "fail", "two")
            [line] = await staff.until("begin", "one")
            postgres.crash()
            try:
                assert await only.code() == LAPSED
                await until_gone([line.pid])
            finally:
                postgres.start()
        staff.let_end("one", "two")
        async with worker(staff, database):
            assert await ended(client, run) == ("completed", "did one")
            assert await ended(client, waiting) == ("completed", "did two")
    no_overlap(staff, "one")
    assert (len(staff.of("begin", "one")), len(staff.of("begin", "two"))) == (2, 1)
