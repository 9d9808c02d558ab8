"""What is done to the team while its clients go on: each part is killed, stopped or cut off."""

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable
from itertools import count
from typing import NamedTuple

from judge.parts import Worker
from judge.record import Deed
from judge.stage import ERAS, Stage
from judge.swarm import Member
from support.processes import until_gone, until_true
from team.staff import Line

# What a takeover may take beyond the lease.
BEYOND_S = 5.0
LAPSED = 75
# How many deeds have to be done after each trouble, for those that it hits to be among them.
AFTERWARDS = 25


class Held(NamedTuple):
    """A run whose engine waits for our word, and who waits for the run."""

    task: str
    line: Line
    worker: Worker
    waiting: "asyncio.Task[Deed]"


class Director:
    """One trouble after the other."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._numbers = count()
        # How long it took from the end of a worker to the next beginning of its run.
        self.takeovers: dict[str, list[float]] = {}

    @property
    def short(self) -> list[Callable[[], Awaitable[None]]]:
        """What the short judgement is made of; the rest of it takes longer than the lease."""
        return [
            lambda: self.gateway_is_killed(0),
            self.worker_is_killed,
            lambda: self.gateway_is_killed(1),
            self.worker_is_cut_off,
            self.database_is_killed,
            self.all_are_restarted,
        ]

    @property
    def whole(self) -> list[Callable[[], Awaitable[None]]]:
        return [*self.short, self.worker_is_stopped, self.database_is_away]

    async def gateway_is_killed(self, number: int) -> None:
        gateway = self._stage.gateways[number]
        trouble = self._stage.record.trouble("kill", gateway.name)
        await gateway.end(signal.SIGKILL)
        trouble.until = time.time()
        await gateway.up()
        await self.go_on()

    async def worker_is_killed(self) -> None:
        """Whoever has a run is killed: one run is begun again, and one is ended."""
        again, last = await self.held("retry"), await self.held("fail")
        trouble = self._stage.record.trouble("kill", again.worker.name)
        at = time.time()
        await again.worker.end(signal.SIGKILL)
        trouble.until = time.time()
        await until_gone([again.line.pid])
        await self._taken_over(again, "kill", at)
        self._stage.staff.let_end(last.task)
        ended = await last.waiting
        if last.worker is again.worker:
            assert "interrupted" in ended.words, ended
        else:
            assert ended.is_done, ended
        await again.worker.up()
        await self.go_on()

    async def worker_is_stopped(self) -> None:
        held = await self.held("retry")
        count = len(held.worker.codes)
        trouble = self._stage.record.trouble("stop", held.worker.name)
        at = time.time()
        held.worker.send(signal.SIGSTOP)
        try:
            await until_gone([held.line.pid])
            assert time.time() - at < self._stage.lease_s
            await self._taken_over(held, "stop", at)
        finally:
            held.worker.send(signal.SIGCONT)
        await held.worker.ends(count + 1)
        trouble.until = time.time()
        assert held.worker.codes[count] == LAPSED
        await held.worker.up()
        await self.go_on()

    async def worker_is_cut_off(self) -> None:
        held = await self.held("resume")
        count = len(held.worker.codes)
        network = self._stage.network
        trouble = self._stage.record.trouble("cut", held.worker.name)
        at = time.time()
        network.cut(held.worker.name)
        try:
            await self._taken_over(held, "cut", at)
            await until_gone([held.line.pid])
            await held.worker.ends(count + 1)
        finally:
            network.heal(held.worker.name)
        trouble.until = time.time()
        assert held.worker.codes[count] == LAPSED
        await held.worker.up()
        await self.go_on()

    async def database_is_killed(self) -> None:
        """It is back at once: no run is disturbed, unless that took too long."""
        stage = self._stage
        held = await self.held("retry")
        count = len(held.worker.codes)
        trouble = stage.record.trouble("kill", "db")
        await stage.database.end(signal.SIGKILL)
        await stage.database.up()
        trouble.until = time.time()
        away = trouble.until - trouble.at
        stage.staff.let_end(held.task)
        ended = await held.waiting
        assert ended.is_done, ended
        attempts = len(stage.staff.of("begin", held.task))
        assert attempts == 1 or (away > stage.lease_s / 2 and held.worker.codes[count:])
        await self.go_on()

    async def database_is_away(self) -> None:
        """For longer than the lease: workers end, and their runs are begun again."""
        stage = self._stage
        held = await self.held("retry")
        counts = [len(each.codes) for each in stage.workers]
        trouble = stage.record.trouble("away", "db")
        await stage.database.end(signal.SIGKILL, stays_away=True)
        for each, number in zip(stage.workers, counts, strict=True):
            await each.ends(number + 1)
            assert each.codes[number] == LAPSED
        await until_gone([held.line.pid])
        await asyncio.sleep(max(0.0, trouble.at + stage.lease_s + 1.0 - time.time()))
        await stage.database.start()
        trouble.until = time.time()
        await self._taken_over(held, "away", trouble.until)
        await asyncio.gather(*(each.up() for each in stage.workers))
        await self.go_on()

    async def all_are_restarted(self) -> None:
        """One after the other, as an upgrade does."""
        for part in (*self._stage.gateways, *self._stage.workers):
            trouble = self._stage.record.trouble("restart", part.name)
            await part.end(signal.SIGTERM)
            trouble.until = time.time()
            assert part.codes[-1] == 0, part.said[-2000:]
            await part.up()
        await self.go_on()

    async def held(self, kind: str) -> Held:
        """Begin a run that does not end by itself, and wait until its engine has begun."""
        number = next(self._numbers)
        stage = self._stage
        member = Member(stage.balancer.url, f"held{number}", ERAS[number % 2], stage.record)
        waiting = asyncio.ensure_future(member.once(kind))
        [line] = await stage.staff.until("begin", member.name)
        return Held(member.name, line, stage.worker_of(line.pid), waiting)

    async def go_on(self) -> None:
        """Wait until clients have done what shows that all is well again."""
        record = self._stage.record
        wanted = len(record.deeds) + AFTERWARDS
        await until_true(lambda: len(record.deeds) >= wanted)

    async def _taken_over(self, held: Held, what: str, at: float) -> None:
        staff = self._stage.staff
        await until_true(
            lambda: len(staff.of("begin", held.task)) + len(staff.of("loaded", held.task)) >= 2
        )
        lines = staff.of("begin", held.task) + staff.of("loaded", held.task)
        took = max(line.at for line in lines) - at
        self.takeovers.setdefault(what, []).append(took)
        assert took < self._stage.lease_s + BEYOND_S
        staff.let_end(held.task)
        ended = await held.waiting
        assert ended.is_done, ended
