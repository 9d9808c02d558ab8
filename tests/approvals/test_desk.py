"""The desk: what becomes of a question, whoever looks at it and whatever dies meanwhile."""

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from approvals.asker_contract import a_question
from approvals.ground import decision
from support.requirements import requirement
from switchboard.approvals.database import Database
from switchboard.approvals.desk import PENDING_IN_ALL, PENDING_PER_SESSION, TTL_S, Desk
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.questions import Verdict


class FakeClock:
    """Runs with the real one, and ahead of it."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def desk(home: Path, clock: FakeClock) -> Desk:
    return Desk(Database(str(home)), clock=clock)


def state(desk: Desk, question_id: str) -> str:
    found = desk.find(question_id)
    assert found is not None
    return found.state


# What becomes of a question


@requirement("S3.34")
@pytest.mark.parametrize("verdict", ["approved", "denied", "cancelled"])
def test_a_question_is_decided_once(desk: Desk, verdict: Verdict) -> None:
    question = a_question()
    desk.post(question)
    assert desk.answer(question.id) is None
    assert desk.decide(question.id, decision(verdict))
    for later in ("approved", "denied"):
        assert not desk.decide(question.id, decision(later))
    answer = desk.answer(question.id)
    assert answer is not None
    assert answer.verdict == verdict


def test_an_approval_is_used_once(desk: Desk) -> None:
    question = a_question()
    desk.post(question)
    assert not desk.consume(question.id, question.digest)
    desk.decide(question.id, decision())
    assert not desk.consume(question.id, "another digest")
    assert desk.consume(question.id, question.digest)
    assert not desk.consume(question.id, question.digest)
    assert state(desk, question.id) == "consumed"


@pytest.mark.parametrize("verdict", ["denied", "cancelled"])
def test_what_was_not_approved_cannot_be_used(desk: Desk, verdict: Verdict) -> None:
    question = a_question()
    desk.post(question)
    desk.decide(question.id, decision(verdict))
    assert not desk.consume(question.id, question.digest)


@requirement("S3.34")
def test_a_question_expires_and_cannot_be_approved_then(desk: Desk, clock: FakeClock) -> None:
    question = a_question(expires_in_s=TTL_S)
    desk.post(question)
    clock.ahead = TTL_S + 1
    answer = desk.answer(question.id)
    assert answer is not None
    assert answer.verdict == "expired"
    assert not desk.decide(question.id, decision())
    assert desk.waiting() == []
    assert state(desk, question.id) == "expired"


def test_an_approval_that_nobody_uses_expires(desk: Desk, clock: FakeClock) -> None:
    question = a_question(expires_in_s=TTL_S)
    desk.post(question)
    clock.ahead = TTL_S - 1
    assert desk.decide(question.id, decision())
    clock.ahead += TTL_S + 2
    assert not desk.consume(question.id, question.digest)
    assert state(desk, question.id) == "expired"


def test_old_questions_are_forgotten(desk: Desk, clock: FakeClock) -> None:
    desk.post(a_question())
    clock.ahead = 3 * 24 * 3600
    assert [posted.state for posted in desk.recent()] == []


# Sharing and caps


def test_identical_questions_share_one_place_and_find_an_approval_given_meanwhile(
    desk: Desk,
) -> None:
    first = desk.post(a_question("one"))
    second = desk.post(a_question("two"))
    assert second.question.id == first.question.id == "one"
    desk.decide("one", decision())
    found = desk.post(a_question("three"))
    assert found.question.id == "one"
    assert found.answer is not None
    assert desk.consume("one", "d1")
    assert desk.post(a_question("four")).question.id == "four"


def test_the_same_call_of_another_session_is_another_question(desk: Desk) -> None:
    desk.post(a_question("one"))
    assert desk.post(a_question("two", session="other")).question.id == "two"


def test_a_denied_question_can_be_asked_again(desk: Desk) -> None:
    desk.post(a_question("one"))
    desk.decide("one", decision("denied"))
    assert desk.post(a_question("two")).question.id == "two"


def until_refused(post: Callable[[int], object]) -> Fault:
    for number in range(1_000):
        try:
            post(number)
        except Fault as fault:
            return fault
    raise AssertionError("nothing was refused")


def test_a_session_has_three_questions_at_most(desk: Desk) -> None:
    fault = until_refused(lambda n: desk.post(a_question(f"q{n}", digest=f"d{n}")))
    assert (fault.code, fault.reason) == (FaultCode.RESOURCE_EXHAUSTED, "too-many-questions")
    assert len(desk.waiting()) == PENDING_PER_SESSION == 3
    assert desk.post(a_question("other", session="other")).question.id == "other"
    desk.decide("q0", decision("denied"))
    assert desk.post(a_question("more", digest="more")).question.id == "more"


def test_many_sessions_cannot_flood_a_person_either(desk: Desk) -> None:
    fault = until_refused(lambda n: desk.post(a_question(f"q{n}", session=f"s{n}")))
    assert fault.code is FaultCode.RESOURCE_EXHAUSTED
    assert len(desk.waiting()) == PENDING_IN_ALL


def test_what_a_session_asked_or_was_given_ends_with_it(desk: Desk) -> None:
    desk.post(a_question("one"))
    desk.post(a_question("two", digest="d2"))
    desk.post(a_question("other", session="other"))
    desk.decide("two", decision())
    desk.leave("session")
    assert [posted.question.id for posted in desk.waiting()] == ["other"]
    assert not desk.consume("two", "d2")


# The file


def test_the_file_is_private_also_when_it_was_not(home: Path) -> None:
    folder = home / "state"
    Desk(Database(str(home))).post(a_question())
    files = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert "approvals.db" in files
    assert set(files.values()) == {0o600}
    (folder / "approvals.db").chmod(0o644)
    Database(str(home)).close()
    assert stat.S_IMODE((folder / "approvals.db").stat().st_mode) == 0o600


@pytest.mark.parametrize("kind", ["link", "folder", "garbage", "newer"])
def test_a_file_that_cannot_be_used_is_a_fault_and_not_an_approval(home: Path, kind: str) -> None:
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
        Database(str(home))
    assert (caught.value.code, caught.value.reason) == (
        FaultCode.UNAVAILABLE,
        "approvals-unavailable",
    )
    assert str(home) not in f"{caught.value.message}{caught.value.hint}{caught.value.details}"


# Several processes


OTHER = dedent(
    """
    import signal, sys
    sys.path.insert(0, sys.argv[2])
    from approvals.asker_contract import a_question
    from approvals.ground import decision
    from switchboard.approvals.database import Database
    from switchboard.approvals.desk import Desk

    desk = Desk(Database(sys.argv[1]))
    what = sys.argv[3]
    if what.startswith("ask"):
        offers = ("once",) if what == "ask-once" else ("once", "session")
        desk.post(a_question("theirs", session="theirs", offers=offers))
        print("asked", flush=True)
        signal.pause()
    elif what == "decide":
        print(desk.decide("ours", decision()), flush=True)
    elif what == "race":
        print("ready", flush=True)
        sys.stdin.readline()
        print(sum(desk.consume("ours", "d1") for _ in range(10)), flush=True)
    """
)


def other(home: Path, what: str) -> "subprocess.Popen[str]":
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


def test_another_process_decides(desk: Desk, home: Path) -> None:
    desk.post(a_question("ours"))
    with other(home, "decide") as process:
        assert said(process) == "True"
    answer = desk.answer("ours")
    assert answer is not None
    assert answer.verdict == "approved"


def test_processes_that_race_for_one_approval_use_it_once(desk: Desk, home: Path) -> None:
    desk.post(a_question("ours"))
    desk.decide("ours", decision())
    racers = [other(home, "race") for _ in range(4)]
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


def test_threads_that_race_for_one_approval_use_it_once(desk: Desk, home: Path) -> None:
    desk.post(a_question("ours"))
    desk.decide("ours", decision())
    start = threading.Barrier(8)
    wins: list[bool] = []

    def race() -> None:
        mine = Desk(Database(str(home)))
        start.wait()
        wins.append(mine.consume("ours", "d1"))

    threads = [threading.Thread(target=race) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wins.count(True) == 1


def test_a_process_that_is_killed_leaves_no_question_behind(desk: Desk, home: Path) -> None:
    with other(home, "ask") as process:
        assert said(process) == "asked"
        assert [posted.question.id for posted in desk.waiting()] == ["theirs"]
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert desk.waiting() == []
    assert state(desk, "theirs") == "cancelled"
    assert not desk.decide("theirs", decision())


def test_a_process_of_another_container_is_not_taken_for_gone(desk: Desk, home: Path) -> None:
    desk.post(a_question())
    database = Database(str(home))
    database.change("UPDATE questions SET owner = 999999999, owner_namespace = 'pid:[1]'")
    assert len(desk.waiting()) == 1


def test_what_a_client_without_a_session_asked_outlives_it(desk: Desk, home: Path) -> None:
    with other(home, "ask-once") as process:
        assert said(process) == "asked"
        process.kill()
        process.wait()
    assert [posted.question.id for posted in desk.waiting()] == ["theirs"]
