"""A home for every test, and the runs of it in one process or in several."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fakes.events import MemoryEvents
from runs.ground import FakeOwners
from switchboard.runs.limits import RunLimits
from switchboard.runs.local_engine import LocalEngine
from switchboard.runs.service import RunService
from switchboard.runs.store.sqlite import SqliteRuns


class Machine:
    """Processes that share a home. A killed one leaves its runs as they are."""

    def __init__(self, home: Path) -> None:
        self.home = str(home)
        self.events = MemoryEvents()
        self._gone: set[str] = set()
        self._services: list[RunService] = []
        self._names: dict[RunService, str] = {}

    def process(self, limits: RunLimits | None = None) -> RunService:
        limits = limits or RunLimits()
        name = f"p{len(self._services)}"
        service = RunService(
            SqliteRuns(self.home, owners=FakeOwners(name, self._gone)),
            lambda execute: LocalEngine(execute, limits),
            events=self.events,
            limits=limits,
        )
        self._services.append(service)
        self._names[service] = name
        return service

    async def kill(self, service: RunService) -> None:
        """What `kill -9` does: it writes nothing any more, and others see that it is gone."""
        await service.store.aclose()
        self._gone.add(self._names[service])

    async def aclose(self) -> None:
        for service in self._services:
            async with asyncio.timeout(30):
                try:
                    await service.aclose()
                except Exception:  # noqa: BLE001 - a killed one has no store any more
                    continue


@pytest.fixture
async def machine(tmp_path: Path) -> AsyncIterator[Machine]:
    machine = Machine(tmp_path)
    yield machine
    await machine.aclose()


@pytest.fixture
def runs(machine: Machine) -> RunService:
    return machine.process()
