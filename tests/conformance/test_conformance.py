"""The official conformance suite finds nothing that Switchboard loses."""

from pathlib import Path

import pytest

from conformance.run import (
    DIRECT,
    FRONTS,
    LOGIN,
    WAYS,
    auth_rows,
    client_rows,
    failures,
    losses,
    server_rows,
)
from conformance.suite import VERSIONS
from conformance.verdicts import table

pytestmark = [pytest.mark.xdist_group("conformance"), pytest.mark.timeout(600)]


async def test_every_server_scenario_that_passes_directly_passes_behind_switchboard(
    tmp_path: Path,
) -> None:
    rows = await server_rows(tmp_path)
    assert {row.version for row in rows} == set(VERSIONS)
    assert [row.scenario for row in rows if not row.outcomes[DIRECT].passes] == []
    assert losses(rows) == [], table(rows, list(WAYS))


async def test_the_client_scenarios_pass_for_clients_of_either_era(tmp_path: Path) -> None:
    rows = await client_rows(tmp_path)
    assert {row.version for row in rows} == set(VERSIONS)
    assert failures(rows) == [], table(rows, list(FRONTS))


@pytest.mark.requirement("S4.37")
async def test_the_authorization_scenarios_pass_for_a_person_who_types_what_is_said(
    tmp_path: Path,
) -> None:
    rows = await auth_rows(tmp_path)
    assert rows
    assert failures(rows) == [], table(rows, [LOGIN])
