"""One gateway among the others: what it vouches for, and when it is better left alone."""

import threading
import time
from typing import Any, cast

import pytest

from switchboard.core.faults import Fault, FaultCode
from switchboard.daemon.team.membership import Team
from switchboard.postgres.address import DatabaseAddress
from switchboard.postgres.presence import PRESENCE, Presence
from switchboard.postgres.schema import prepare
from switchboard.surface.http.access import Access
from switchboard.surface.http.relay import Relay
from switchboard.surface.http.surface import HttpSurface
from switchboard.vault.keys.team_key import TeamKey

OLD, NEW, OTHER = (TeamKey(letter * 32) for letter in (b"o", b"n", b"x"))


async def asked(surface: HttpSurface, path: str) -> tuple[int, bytes]:
    """Ask for a path as a load balancer does."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope: dict[str, Any] = {"type": "http", "method": "GET", "path": path, "headers": []}
    await surface(scope, cast("Any", None), send)
    return sent[0]["status"], sent[1]["body"]


async def test_a_gateway_that_does_not_reach_the_database_says_so_and_lives(
    database: DatabaseAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = Team(database, [OLD], name="one", reached_at="http://127.0.0.1:1")
    try:
        surface = HttpSurface(
            cast("Any", None),
            cast("Any", None),
            Access(token="x" * 32, hosts=frozenset()),
            workspace="",
            instructions=str,
            relay=Relay(team),
        )
        assert await asked(surface, "/readyz") == (200, b"ok\n")
        monkeypatch.setattr(team.presence, "_beat_at", time.monotonic() - 30)
        assert await asked(surface, "/healthz") == (200, b"ok\n")
        status, text = await asked(surface, "/readyz")
        assert (status, text.startswith(b"the database was last reached 3")) == (503, True)
    finally:
        team.close()


async def test_gateways_know_each_other_and_believe_who_has_a_secret_of_the_team(
    database: DatabaseAddress,
) -> None:
    one = Team(database, [OLD, NEW], name="one", reached_at="http://127.0.0.1:1")
    two = Team(database, [NEW, OLD], name="two", reached_at="http://127.0.0.1:2")
    stranger = Team(database, [OTHER], name="three", reached_at="http://127.0.0.1:3")
    try:
        assert await one.address_of(two.tag) == "http://127.0.0.1:2"
        assert await one.address_of("0" * 16) == ""
        # Also while the secret is being changed.
        assert two.believe(one.vouch("10.1.2.3")) == "10.1.2.3"
        assert one.believe(two.vouch("10.1.2.3")) == "10.1.2.3"
        assert one.believe(stranger.vouch("10.1.2.3")) is None
        forged = one.vouch("10.1.2.3").replace("10.1.2.3", "10.1.2.4")
        assert two.believe(forged) is None
        assert two.believe("nonsense") is None
        stranger.close()
        assert await one.address_of(stranger.tag) == ""
    finally:
        one.close()
        two.close()


def test_who_was_not_heard_by_the_database_tries_again_at_once(
    database: DatabaseAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is silent for the lease is taken for gone, and what it asks is cancelled."""
    prepare(database, [PRESENCE])
    presence = Presence(database, "gateway", lease_s=12.0)
    presence.join()
    tries: list[float] = []
    enough = threading.Event()

    def fail() -> None:
        tries.append(time.monotonic())
        if len(tries) > 3:
            enough.set()
        raise Fault(FaultCode.UNAVAILABLE, "database-unusable", "away")

    monkeypatch.setattr(presence, "_beat", fail)
    try:
        assert enough.wait(30)
    finally:
        monkeypatch.undo()
        presence.leave()
    # A sign of life would be due each second.
    assert tries[3] - tries[0] < 2.5


def test_without_its_database_there_is_no_gateway() -> None:
    nowhere = DatabaseAddress("postgresql://sb:canary@127.0.0.1:1/team")
    with pytest.raises(Fault) as caught:
        Team(nowhere, [OLD], name="one", reached_at="")
    assert caught.value.reason == "database-unusable"
    assert "canary" not in caught.value.message
