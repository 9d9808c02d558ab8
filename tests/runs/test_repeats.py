"""The same request again, from a client whose session is gone: it gets the run that it missed."""

import pytest

from runs.conftest import Machine
from runs.ground import ScriptedWorker, a_spec
from switchboard.runs.run import RunSpec
from switchboard.runs.service import RunService


def asked(session: str, name: str = "client") -> RunSpec:
    """A request of one session of a client."""
    return a_spec(
        request_key=f"key of {session}", repeat_key=f"key of {name}", owner=session, called="tool"
    )


@pytest.fixture
async def runs(machine: Machine) -> RunService:
    made = machine.process()
    made.attach(ScriptedWorker())
    return made


async def test_two_sessions_of_one_client_have_runs_of_their_own(runs: RunService) -> None:
    first, second = await runs.start(asked("one")), await runs.start(asked("two"))
    assert first.id != second.id


async def test_who_comes_back_in_a_new_session_gets_its_run_and_owns_it(runs: RunService) -> None:
    first = await runs.start(asked("one"))
    await runs.left("one")
    assert (await runs.start(asked("other", "another"))).id != first.id
    again = await runs.start(asked("two"))
    assert again.id == first.id
    assert again.spec.owner == "two"
    assert (await runs.get(first.id)).spec.owner == "two"
    # It is a living session's again.
    assert (await runs.start(asked("three"))).id != first.id
    assert (await runs.start(asked("two"))).id == first.id


async def test_what_was_delivered_is_nobodys_to_get_again(runs: RunService) -> None:
    first = await runs.start(asked("one"))
    await runs.delivered(first.id)
    await runs.left("one")
    assert (await runs.start(asked("two"))).id != first.id


async def test_a_client_without_a_name_gets_no_run_of_others(runs: RunService) -> None:
    first = await runs.start(a_spec(request_key="one", owner="one"))
    await runs.left("one")
    assert (await runs.start(a_spec(request_key="two", owner="two"))).id != first.id


async def test_a_client_whose_daemon_was_killed_gets_its_run(machine: Machine) -> None:
    before = machine.process()
    first = await before.start(asked("one"))
    await machine.kill(before)
    after = machine.process()
    assert (await after.start(asked("two"))).id == first.id
