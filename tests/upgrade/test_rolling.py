"""A team that goes from one version to the next, gateway by gateway, while it is used."""

import asyncio
import signal
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from support.postgres import Cluster
from support.processes import until_true, wait_until_none_mention
from support.workspace import Workspace
from switchboard.postgres.address import DatabaseAddress
from team.callers import Callers, Held
from team.ground import PATIENCE, Balancer, Gateway, balancing, free_port, gateway
from upgrade.earlier import installed

# It knew its own tables alone, of one version, and broke off what was under way when it stopped.
BEFORE_ADDITIONS = "strict-tables"
# It hands over what is new, and grows its tables.
DRAINING = "draining"
STEPS = "SELECT part, version, steps FROM switchboard.versions WHERE part = 'members'"


@pytest.fixture
def database(postgres: Cluster) -> Generator[DatabaseAddress]:
    with postgres.database() as address:
        yield address


@pytest.fixture
def held() -> Generator[Held]:
    with TemporaryDirectory(prefix="sb-", ignore_cleanup_errors=True) as folder:
        held = Held(Workspace(Path(folder)))
        # So that every call is written down, in the tables of both.
        held.workspace.config_toml("guard = true\n", scope="home")
        yield held
        wait_until_none_mention(str(held.workspace.root))


class Place:
    """One of the two gateways: whichever version runs there."""

    def __init__(self, held: Held, database: DatabaseAddress, name: str) -> None:
        self._held = held
        self._database = database
        self._name = name
        self.port = free_port()
        self._running: AbstractAsyncContextManager[Gateway] | None = None
        self._gateway: Gateway | None = None

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def start(self, program: Sequence[str] = (), *, linger_s: int | None = 0) -> None:
        self._running = gateway(
            *(self._held, self._database, "--name", self._name),
            port=self.port,
            program=program,
            linger_s=linger_s,
        )
        self._gateway = await self._running.__aenter__()

    async def stop(self) -> None:
        if self._running is None or self._gateway is None:
            return
        if self._gateway.process.returncode is None:
            self._gateway.process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(PATIENCE):
            assert await self._gateway.process.wait() == 0
        await self._running.__aexit__(None, None, None)
        self._running = self._gateway = None


@asynccontextmanager
async def two_places(
    held: Held, database: DatabaseAddress, folder: Path
) -> AsyncGenerator[tuple[Balancer, list[Place]]]:
    port = free_port()
    places = [Place(held, database, f"127.0.0.1:{port}") for _ in range(2)]
    with balancing(folder / "nginx", port, *(each.origin for each in places)) as balancer:
        try:
            yield balancer, places
        finally:
            for place in places:
                await place.stop()


async def test_a_team_of_a_version_that_cannot_drain_is_upgraded_without_a_failed_call(
    held: Held, database: DatabaseAddress, postgres: Cluster, tmp_path: Path
) -> None:
    """Each is taken out of the balancer first; the tables grow while the other one still runs."""
    before = installed(BEFORE_ADDITIONS, tmp_path)
    async with two_places(held, database, tmp_path) as (balancer, places):
        for place in places:
            await place.start(before, linger_s=None)
        assert "steps" not in str(postgres.run("SELECT * FROM switchboard.versions", database))
        callers = Callers(balancer.url)
        async with callers.calling(modern_ones=4, sessions=0):
            await callers.more(20)
            for number, place in enumerate(places):
                await balancer.take_out(place.origin)
                await place.stop()
                await place.start()
                assert postgres.run(STEPS, database) == [("members", 1, 2)]
                await callers.more(20)
                await balancer.take_out("")
                await until_true(lambda: len(callers.processes) == number + 3)  # noqa: B023 - now
                if number == 0:
                    # One that lost its connections finds the tables as good as before.
                    postgres.cut(database)
                    await callers.more(20)
        assert callers.failed == {}
        # Two of each version, each with a server of its own.
        assert len(callers.processes) == 4
        # And back: the version before starts on the tables as they are now.
        await places[0].stop()
        await places[0].start(before, linger_s=None)


async def test_a_team_is_upgraded_and_put_back_by_stops_and_starts_alone(
    held: Held, database: DatabaseAddress, tmp_path: Path
) -> None:
    """From a version that drains; the balancer finds out when it cannot connect."""
    before = installed(DRAINING, tmp_path)
    async with two_places(held, database, tmp_path) as (balancer, places):
        for place in places:
            await place.start(before)
        callers = Callers(balancer.url)
        async with callers.calling(modern_ones=3, sessions=3):
            await callers.more(20)
            for program in ((), before):
                for place in places:
                    await place.stop()
                    await callers.more(20)
                    await place.start(program)
                    await callers.more(30)
    assert callers.failed == {}
    assert (len(callers.processes), callers.renewed > 0) == (6, True)
