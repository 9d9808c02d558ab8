"""Bringing the tables of a team up to date: what may be done beside others, and what may not."""

import pytest

from cli.commands import switchboard
from postgres.ground import MORE, ONE, TWO, part
from support.postgres import Cluster
from support.workspace import Workspace
from switchboard.core.faults import Fault
from switchboard.daemon.team import upgrading
from switchboard.daemon.team.membership import PARTS
from switchboard.postgres.address import DatabaseAddress
from switchboard.postgres.presence import PRESENCE, Presence
from switchboard.postgres.schema import prepare


def test_tables_are_made_by_command_and_are_then_up_to_date(
    workspace: Workspace, database: DatabaseAddress, postgres: Cluster
) -> None:
    env = {"SWITCHBOARD_DB": database.url}
    made = switchboard(workspace, "state", "upgrade", "--json", env=env)
    assert (made.code, len(made.report["done"])) == (0, len(PARTS)), made.err
    again = switchboard(workspace, "state", "upgrade", env=env)
    assert again.out == "the tables are up to date\n"
    postgres.run("UPDATE switchboard.versions SET version = 9 WHERE part = 'audit'", database)
    newer = switchboard(workspace, "state", "upgrade", env=env)
    assert newer.code != 0
    assert "of version 9, and this Switchboard knows 1" in newer.err


def test_it_says_what_it_needs(workspace: Workspace) -> None:
    without = switchboard(workspace, "state", "upgrade")
    assert "a team has a database, and here is none" in without.err
    mixed = switchboard(workspace, "state", "upgrade", "--dry-run")
    assert "`--dry-run` is for `move`" in mixed.err


def test_what_others_could_not_use_any_more_waits_for_their_end(
    database: DatabaseAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(database, [PRESENCE, part(ONE)])
    member = Presence(database, "gateway")
    member.join()
    try:
        monkeypatch.setattr(upgrading, "PARTS", (PRESENCE, part(ONE, MORE)))
        assert upgrading.upgrade_tables(database.url)[1] == ["notes 1 -> 1.1"]
        monkeypatch.setattr(upgrading, "PARTS", (PRESENCE, part(ONE, MORE, TWO)))
        with pytest.raises(Fault, match="which those that run now cannot use: gateway on"):
            upgrading.upgrade_tables(database.url)
    finally:
        member.leave()
    assert upgrading.upgrade_tables(database.url)[1] == ["notes 1.1 -> 2.1"]
