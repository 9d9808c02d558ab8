"""What changes on one gateway is told to the clients of each."""

import asyncio
from functools import partial
from pathlib import Path

import pytest

from gate.over_http import MODES
from support.postgres import Cluster
from support.processes import wait_until_true
from support.requirements import attack
from support.workspace import Workspace
from switchboard.postgres.address import DatabaseAddress
from team.ground import gateway, http_client
from team.wires import FIRST, Shelved, Wire, two_gateways

TOOLS = "notifications/tools/list_changed"
UPDATED = "notifications/resources/updated"


@pytest.fixture
def shelved(workspace: Workspace) -> Shelved:
    return Shelved(workspace)


async def test_a_client_hears_at_one_gateway_what_changes_on_another(
    shelved: Shelved, database: DatabaseAddress, postgres: Cluster
) -> None:
    async with two_gateways(shelved, database) as (team, http):
        for version in MODES:
            near = Wire(http, team.gateways[0], version)
            far = Wire(http, team.gateways[1], version)
            await near.begin()
            await far.begin()
            # The child of the other gateway runs before anybody follows anything.
            assert not (await far.call("put", name="other", value="1")).get("isError")
            async with near.listening():
                await far.call("grow", name=f"new_{MODES[version].replace('-', '_')}")
                await near.hears(TOOLS)
                if version == next(iter(MODES)):
                    # The first to follow may have missed what came before others knew of it.
                    await near.hears(UPDATED)
                near.told.clear()
                await far.call("put", name="first", value=version)
                await near.hears(UPDATED, lambda each: each["params"]["uri"] == FIRST)
                # A connection that is cut may have missed something, so everything is told.
                postgres.cut(database)
                await near.hears(TOOLS)
                await near.hears(UPDATED)
                await far.call("grow", name="later")
                await near.hears(TOOLS)


async def test_a_change_of_the_configuration_of_one_gateway_is_told_by_the_other(
    shelved: Shelved, database: DatabaseAddress, tmp_path: Path
) -> None:
    own = tmp_path / "own.toml"
    own.write_text("", "utf-8")
    async with (
        gateway(shelved, database) as first,
        gateway(shelved, database, "--config", str(own)),
        http_client() as http,
    ):
        near = Wire(http, first, "2026-07-28")
        async with near.listening():
            own.write_text("[tools]\ndeny = ['pid']\n", "utf-8")
            await near.hears(TOOLS)


async def test_what_is_followed_at_one_gateway_is_forgotten_by_the_others_with_it(
    shelved: Shelved, database: DatabaseAddress, postgres: Cluster
) -> None:
    async with two_gateways(shelved, database) as (team, http):
        near = Wire(http, team.gateways[0], "2026-07-28")
        rows = partial(postgres.run, "SELECT uri FROM switchboard.followed", database)
        async with near.listening():
            await asyncio.to_thread(wait_until_true, lambda: rows() == [(FIRST,)])
        await asyncio.to_thread(wait_until_true, lambda: rows() == [])


@attack("T95")
async def test_a_resource_that_no_table_can_hold_keeps_nobody_else_from_hearing(
    shelved: Shelved, database: DatabaseAddress
) -> None:
    async with two_gateways(shelved, database) as (team, http):
        hostile = Wire(http, team.gateways[0], "2026-07-28")
        near = Wire(http, team.gateways[0], "2026-07-28")
        far = Wire(http, team.gateways[1], "2026-07-28")
        assert not (await far.call("put", name="other", value="1")).get("isError")
        async with hostile.listening("shelf://a\0b"), near.listening():
            # That it is followed here, too, the other gateway knows from the table alone.
            await near.hears(UPDATED)
            near.told.clear()
            await far.call("put", name="first", value="2")
            await near.hears(UPDATED, lambda each: each["params"]["uri"] == FIRST)
