"""What goes wrong around a team: clocks, versions, connections and disks."""

import asyncio
import re
import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from cli.commands import switchboard
from gate.ground import Gate
from gate.over_http import Person, connected, write
from support.postgres import Cluster
from support.workspace import Workspace
from switchboard.postgres.address import DatabaseAddress
from team.ground import SECRET, TOKEN, gateway
from team.staff import SHORT_LEASE, Staff, begun, ended, worker

MODERN = "2026-07-28"
HOUR_OFF = "+3600"
MEGABYTE = 2**20
DISK_MB = 96


def faked(offset: str) -> dict[str, str]:
    """What puts the clock of one process wrong; how time passes stays as it is."""
    [library] = Path("/usr/lib").glob("*/faketime/libfaketime.so.1")
    return {"LD_PRELOAD": str(library), "DONT_FAKE_MONOTONIC": "1", "FAKETIME": offset}


async def refused(
    workspace: Workspace, database: DatabaseAddress, more: Mapping[str, str] = {}
) -> str:
    """Start a worker that does not come up; gives what it says."""
    env = {"SWITCHBOARD_DB": database.url, "SWITCHBOARD_TEAM_KEY": SECRET, **more}
    done = await asyncio.to_thread(switchboard, workspace, "worker", env=env)
    assert done.code != 0
    return done.err


async def test_a_worker_whose_clock_is_an_hour_off_is_refused_and_told_by_how_much(
    workspace: Workspace, database: DatabaseAddress
) -> None:
    staff = Staff(workspace)
    async with gateway(staff, database):
        done = await refused(workspace, database, faked(HOUR_OFF))
    assert re.search(r"the clock of this machine is 3(599|600|601) s off", done), done


async def test_a_clock_that_is_set_wrong_meanwhile_neither_ends_a_run_nor_repeats_it(
    workspace: Workspace, database: DatabaseAddress, tmp_path: Path
) -> None:
    """Leases are counted by the database, and silence by a clock that nobody sets."""
    staff = Staff(workspace)
    offset = tmp_path / "offset"
    offset.write_text("+0", "utf-8")
    env = {**faked(""), "FAKETIME_TIMESTAMP_FILE": str(offset), "FAKETIME_NO_CACHE": "1"}
    del env["FAKETIME"]
    async with (
        gateway(staff, database, env=SHORT_LEASE) as first,
        worker(staff, database, env=env) as only,
        connected(first.url, MODERN, None, token=TOKEN) as client,
    ):
        run = await begun(client, staff, "retry", "one")
        await staff.until("begin", "one")
        offset.write_text(HOUR_OFF, "utf-8")
        await staff.until("tick", "one", len(staff.of("tick", "one")) + 40)
        staff.let_end("one")
        assert await ended(client, run) == ("completed", "did one")
        assert only.process.returncode is None
    assert len(staff.of("begin", "one")) == 1


async def test_a_worker_of_an_older_version_ends_what_it_has_and_is_not_started_again(
    workspace: Workspace, database: DatabaseAddress, postgres: Cluster
) -> None:
    staff = Staff(workspace)
    async with (
        gateway(staff, database) as first,
        worker(staff, database),
        connected(first.url, MODERN, None, token=TOKEN) as client,
    ):
        run = await begun(client, staff, "fail", "one")
        await staff.until("begin", "one")
        postgres.run("UPDATE switchboard.versions SET version = 9 WHERE part = 'runs'", database)
        done = await refused(workspace, database)
        assert "of version 9, and this Switchboard knows" in done, done
        staff.let_end("one")
        assert await ended(client, run) == ("completed", "did one")


async def test_without_a_free_connection_newcomers_are_refused_and_others_go_on(
    gate: Gate, database: DatabaseAddress, postgres: Cluster
) -> None:
    name = database.url.rpartition("/")[2]
    role = f"limited_{name}"
    postgres.run(f"CREATE ROLE {role} LOGIN; GRANT CREATE, CONNECT ON DATABASE {name} TO {role}")
    limited = DatabaseAddress(database.url.replace("postgres@", f"{role}@"))
    try:
        async with (
            gateway(gate, limited) as first,
            connected(first.url, MODERN, Person("allow_once"), token=TOKEN) as client,
        ):
            assert not (await write(client, "before")).is_error
            counted = f"SELECT count(*) FROM pg_stat_activity WHERE usename = '{role}'"
            [[count]] = postgres.run(counted)
            postgres.run(f"ALTER ROLE {role} CONNECTION LIMIT {count}")
            with pytest.raises(psycopg.OperationalError, match="too many connections"):
                postgres.run("SELECT 1", limited)
            with pytest.raises(AssertionError, match="database"):
                async with gateway(gate, limited):
                    """It is not there."""
            assert not (await write(client, "full")).is_error
            # Whatever it had is gone, and none comes back: it says so, and goes on later.
            postgres.run(f"ALTER ROLE {role} CONNECTION LIMIT 0")
            postgres.cut(limited)
            never = await write(client, "never")
            assert never.is_error
            assert "cannot be" in str(never.content[0])
            postgres.run(f"ALTER ROLE {role} CONNECTION LIMIT -1")
            assert not (await write(client, "after")).is_error
    finally:
        postgres.run(f"DROP OWNED BY {role}", database)
        postgres.run(f"DROP OWNED BY {role}; DROP ROLE {role}")
    assert gate.written == ["before", "full", "after"]


@contextmanager
def on_a_small_disk() -> Generator[tuple[Cluster, Path]]:
    """Run a PostgreSQL whose files are on a disk of their own, which ends with this test."""
    holders: list[subprocess.Popen[bytes]] = []

    def within(folder: Path) -> Sequence[str]:
        made = f"mount -t tmpfs -o size={DISK_MB}m tmpfs {folder} && chown postgres {folder}"
        words = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "sh", "-c"]
        holder = subprocess.Popen(
            [*words, f"{made} && echo ready && exec sleep 600"], stdout=subprocess.PIPE
        )
        holders.append(holder)
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"ready\n", "no disk of its own: it takes root"
        return ["nsenter", f"--mount=/proc/{holder.pid}/ns/mnt"]

    cluster = Cluster(within)
    try:
        cluster.start()
        yield cluster, Path(f"/proc/{holders[0].pid}/root{cluster.folder}")
    finally:
        cluster.remove()
        for holder in holders:
            holder.kill()
            holder.communicate()


async def test_with_a_full_disk_of_the_database_nothing_runs_without_its_record(
    gate: Gate,
) -> None:
    with on_a_small_disk() as (cluster, disk), cluster.database() as address:
        async with (
            gateway(gate, address) as first,
            connected(first.url, MODERN, Person("allow_once"), token=TOKEN) as client,
        ):
            assert not (await write(client, "before")).is_error
            filler = disk / "filler"
            _fill(filler)
            told: list[str] = []
            for number in range(200):
                answer = await write(client, f"full-{number}")
                if answer.is_error:
                    told.append(str(answer.content[0]))
                    break
            assert told, "the disk was not full"
            assert "cannot be" in told[0]
            filler.unlink()
            if not cluster.is_running:
                cluster.start()
            async with asyncio.timeout(30):
                while (await write(client, "after")).is_error:
                    assert cluster.is_running
            written = gate.written
            log = await gate.type(
                *("audit", "verify", "--json"),
                env={"SWITCHBOARD_DB": address.url, "SWITCHBOARD_TEAM_KEY": SECRET},
            )
            assert log.code == 0, log.out
    assert written[0] == "before"
    assert written[-1] == "after"
    assert len(set(written)) == len(written)


def _fill(path: Path) -> None:
    """Take all the room that there is."""
    with path.open("wb") as file:
        try:
            while True:
                file.write(b"\0" * MEGABYTE)
        except OSError:
            return
