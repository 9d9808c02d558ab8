"""Approvals in SQLite: the contract, the file, and processes that die."""

import contextlib
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from approvals.asker_contract import a_question
from approvals.ground import decision
from approvals.store_contract import ApprovalStoreContract, ids, state
from switchboard.approvals.store.database import Database
from switchboard.approvals.store.owners import ProcessOwners
from switchboard.approvals.store.sqlite import SqliteApprovals
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.stores import ApprovalStore, Owners


class TestSqliteApprovals(ApprovalStoreContract):
    """One file of a home."""

    @pytest.fixture(autouse=True)
    def _home(self, home: Path) -> None:
        self.home = home

    def make(self, clock: Callable[[], float], owners: Owners) -> ApprovalStore:
        return SqliteApprovals(str(self.home), owners=owners, clock=clock)


@pytest.fixture
def store(home: Path) -> SqliteApprovals:
    return SqliteApprovals(str(home))


# The file


async def test_the_file_is_private_also_when_it_was_not(home: Path, store: SqliteApprovals) -> None:
    folder = home / "state"
    await store.post(a_question(), "")
    files = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert "approvals.db" in files
    assert set(files.values()) == {0o600}
    (folder / "approvals.db").chmod(0o644)
    Database(str(home)).close()
    assert stat.S_IMODE((folder / "approvals.db").stat().st_mode) == 0o600


async def test_a_store_that_is_closed_stays_closed_also_for_who_still_listens(
    home: Path, store: SqliteApprovals
) -> None:
    await store.post(a_question(), "")
    with store.subscribe():
        assert any(str(home) in path for path in open_files())
        await store.aclose()
        assert [path for path in open_files() if str(home) in path] == []


def open_files() -> list[str]:
    found: list[str] = []
    for link in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            found.append(str(link.readlink()))
    return found


@pytest.mark.parametrize("kind", ["link", "folder", "garbage", "newer"])
async def test_a_file_that_cannot_be_used_is_a_fault_and_not_an_approval(
    home: Path, store: SqliteApprovals, kind: str
) -> None:
    folder = home / "state"
    folder.mkdir()
    path = folder / "approvals.db"
    if kind == "link":
        (home / "elsewhere").touch()
        path.symlink_to(home / "elsewhere")
    elif kind == "folder":
        path.mkdir()
    elif kind == "garbage":
        path.write_bytes(b"not a database at all" * 100)
    else:
        database = Database(str(home))
        database.change("PRAGMA user_version = 99")
        database.close()
    with pytest.raises(Fault) as caught:
        await store.waiting()
    assert (caught.value.code, caught.value.reason) == (
        FaultCode.UNAVAILABLE,
        "approvals-unavailable",
    )
    assert str(home) not in f"{caught.value.message}{caught.value.hint}{caught.value.details}"


# Several processes


OTHER = dedent(
    """
    import asyncio, signal, sys
    sys.path.insert(0, sys.argv[2])
    from approvals.asker_contract import a_question
    from approvals.ground import decision
    from switchboard.approvals.store.owners import ProcessOwners
    from switchboard.approvals.queue import ApprovalQueue
    from switchboard.approvals.store.sqlite import SqliteApprovals

    async def main():
        store = SqliteApprovals(sys.argv[1])
        what = sys.argv[3]
        if what.startswith("ask"):
            offers = ("once",) if what == "ask-once" else ("once", "session")
            question = a_question("theirs", session="theirs", offers=offers)
            await ApprovalQueue(store, ProcessOwners()).post(question)
            print("asked", flush=True)
            signal.pause()
        elif what == "decide":
            print(await store.decide("ours", decision()), flush=True)
        elif what == "race":
            print("ready", flush=True)
            sys.stdin.readline()
            print(sum([await store.consume("ours", "d1") for _ in range(10)]), flush=True)

    asyncio.run(main())
    """
)


def another(home: Path, what: str) -> "subprocess.Popen[str]":
    tests = str(Path(__file__).parents[1])
    return subprocess.Popen(
        [sys.executable, "-c", OTHER, str(home), tests, what],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def said(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


async def test_another_process_decides(home: Path, store: SqliteApprovals) -> None:
    await store.post(a_question("ours"), "")
    with another(home, "decide") as process:
        assert said(process) == "True"
    answer = await store.answer("ours")
    assert answer is not None
    assert answer.verdict == "approved"


async def test_processes_that_race_for_one_approval_use_it_once(
    home: Path, store: SqliteApprovals
) -> None:
    await store.post(a_question("ours"), "")
    await store.decide("ours", decision())
    racers = [another(home, "race") for _ in range(4)]
    for racer in racers:
        assert said(racer) == "ready"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    wins = [int(said(racer)) for racer in racers]
    for racer in racers:
        racer.communicate()
    assert sum(wins) == 1


async def test_a_process_that_is_killed_leaves_no_question_behind(
    home: Path, store: SqliteApprovals
) -> None:
    with another(home, "ask") as process:
        assert said(process) == "asked"
        assert await ids(store) == ["theirs"]
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert await store.waiting() == []
    assert await state(store, "theirs") == "cancelled"
    assert not await store.decide("theirs", decision())


async def test_what_a_client_without_a_session_asked_outlives_it(
    home: Path, store: SqliteApprovals
) -> None:
    with another(home, "ask-once") as process:
        assert said(process) == "asked"
        process.kill()
        process.wait()
    assert await ids(store) == ["theirs"]


async def test_a_process_of_another_container_is_not_taken_for_gone(
    store: SqliteApprovals,
) -> None:
    await store.post(a_question(), "999999999:1:pid:[1]")
    assert len(await store.waiting()) == 1


def test_an_owner_is_gone_when_another_process_has_its_number() -> None:
    owners = ProcessOwners()
    own = owners.own()
    pid, began, namespace = own.split(":", 2)
    assert not owners.is_gone(own)
    assert owners.is_gone(f"{pid}:{int(began) - 1}:{namespace}")
    assert owners.is_gone(f"999999999:1:{namespace}")
    for unknown in ("", "somebody", f"x:y:{namespace}"):
        assert not owners.is_gone(unknown)


async def test_a_daemon_of_the_version_before_goes_on_asking(
    home: Path, store: SqliteApprovals
) -> None:
    """It knows three columns for the owner, and nothing of the one that there is now."""
    await store.post(a_question("ours"), "")
    file = Database(str(home))
    file.change(
        "INSERT INTO questions (id, session, digest, question, asked_at, expires_at,"
        " owner, owner_began, owner_namespace)"
        " SELECT 'theirs', 'theirs', digest, question, asked_at, expires_at, 999999999, 1, ?"
        " FROM questions",
        ProcessOwners().own().split(":", 2)[2],
    )
    file.close()
    assert len(await store.waiting()) == 1
    assert await state(store, "theirs") == "cancelled"
