"""Who of a team is alive, and who knows of itself that it is not any more."""

import threading
from collections.abc import Generator

import pytest

from support.postgres import Cluster
from support.processes import wait_until_true
from switchboard.core.faults import Fault
from switchboard.postgres.address import DatabaseAddress
from switchboard.postgres.agreed_lease import AGREED, agreed_lease
from switchboard.postgres.presence import PRESENCE, Presence


@pytest.fixture
def address(postgres: Cluster) -> Generator[DatabaseAddress]:
    with postgres.database([PRESENCE, AGREED]) as address:
        yield address


def aged(postgres: Cluster, address: DatabaseAddress, member: Presence, seconds: int) -> None:
    postgres.run(
        f"UPDATE switchboard.members SET beat_at = now() - interval '{seconds} seconds'"
        f" WHERE id = '{member.id}'",
        address,
    )


def beats(postgres: Cluster, address: DatabaseAddress, member: Presence) -> float:
    [[age]] = postgres.run(
        "SELECT extract(epoch FROM now() - beat_at)::float8 FROM switchboard.members"
        f" WHERE id = '{member.id}'",
        address,
    )
    assert isinstance(age, float)
    return age


def test_whoever_was_taken_for_gone_stays_gone_if_it_is_fenced(
    address: DatabaseAddress, postgres: Cluster
) -> None:
    heard = threading.Event()
    fenced = Presence(address, "worker", beat_s=0.1, lease_s=60, fence=0.6, on_beat=heard.set)
    free = Presence(address, "gateway", beat_s=0.1, lease_s=60)
    fenced.join()
    free.join()
    try:
        assert heard.wait(30)
        for member in (fenced, free):
            aged(postgres, address, member, 61)
        wait_until_true(lambda: fenced.is_lapsed)
        wait_until_true(lambda: beats(postgres, address, free) < 30)
        assert beats(postgres, address, fenced) > 60
        assert free.is_gone(fenced.id)
        heard.clear()
        assert not heard.wait(0.5)
        assert not free.is_lapsed
    finally:
        fenced.leave()
        free.leave()


def test_whoever_cannot_say_that_it_lives_knows_so_before_others_do(
    address: DatabaseAddress, postgres: Cluster
) -> None:
    """Also when it could, by then, say so again."""
    member = Presence(address, "worker", beat_s=0.1, lease_s=4, fence=0.5)
    other = Presence(address, "worker", beat_s=0.1, lease_s=4, fence=0.5)
    member.join()
    try:
        postgres.crash()
        try:
            wait_until_true(lambda: member.is_lapsed)
        finally:
            postgres.start()
        assert member.is_lapsed
        wait_until_true(lambda: other.is_gone(member.id))
    finally:
        member.leave()
        other.leave()


def test_a_team_has_one_lease_which_the_first_says(
    address: DatabaseAddress, postgres: Cluster
) -> None:
    assert agreed_lease(address) == 60.0
    # Nobody is there who could mind.
    assert agreed_lease(address, "6") == 6.0
    assert agreed_lease(address) == 6.0
    member = Presence(address, "gateway", lease_s=6)
    member.join()
    try:
        assert agreed_lease(address, "6") == 6.0
        with pytest.raises(Fault, match="the lease of this team is 6 s, and here it is 30 s"):
            agreed_lease(address, "30")
    finally:
        member.leave()
    assert postgres.run("SELECT seconds FROM switchboard.agreed_lease", address) == [(6.0,)]
    for wrong in ("2", "61", "soon", "nan"):
        with pytest.raises(Fault, match="a number of seconds from 3 to 60"):
            agreed_lease(address, wrong)
