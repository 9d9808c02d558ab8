"""The whole team: a load balancer, two gateways, two workers and a database, and what they do."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from agents.real_codex import AGENT as CODEX_AGENT
from judge.network import Network
from judge.parts import Balancer, Database, Gateway, Part, Worker
from judge.record import Deed, Record
from judge.swarm import LEGACY, MODERN, Member
from support.hosts import codex_program, codex_settings
from support.models.responses import responses_model
from support.models.script import say
from support.processes import descendants_of
from support.workspace import Workspace, child_command
from team.staff import AGENT, Staff

ERAS = (LEGACY, MODERN)
ON_CRASH = ("retry", "fail", "resume")
ASKING = ("write", "reviewer", *ON_CRASH)
REVIEWED = "two newts"
# Between two deeds that nobody is asked about, and between two others.
REST_S = (1.0, 2.0)


class JudgedStaff(Staff):
    """The agents of the judge: those of tests of workers, and the real Codex."""

    def __init__(self, workspace: Workspace, ledger: Path) -> None:
        super().__init__(workspace)
        codex, python = json.dumps(str(codex_program())), json.dumps(sys.executable)
        words = json.dumps([str(AGENT), str(self.folder)])
        workspace.config_toml(
            "guard = true\n"
            f"[agents]\npatience = {{ default = 2 }}\nprograms = {{ codex = {codex} }}\n"
            f"[agents.acp.quick]\ncommand = {python}\nargs = {words}\n"
            "[runs]\nparallel_writes = true\n",
            scope="home",
        )
        text = CODEX_AGENT.replace("name =", 'on_crash = "retry"\nname =', 1)
        (workspace.home / "agents" / "reviewer.toml").write_text(text, "utf-8")
        workspace.child("judged", child_command("judged_child", str(ledger)))


class Stage:
    """Everything that runs."""

    def __init__(
        self, network: Network, workspace: Workspace, folder: Path, lease_s: float
    ) -> None:
        ledger = folder / "ledger"
        self.network = network
        self.lease_s = lease_s
        self.folder = folder
        self.workspace = workspace
        self.record = Record(ledger, workspace.root)
        self.staff = JudgedStaff(workspace, ledger)
        self.database = Database(network, folder)

        of_team: Any = {"workspace": workspace, "database": self.database.url, "lease_s": lease_s}
        self.gateways = [Gateway(network, name, folder, **of_team) for name in ("gw1", "gw2")]
        self.workers = [Worker(network, name, folder, **of_team) for name in ("wk1", "wk2")]
        self.balancer = Balancer(network, folder, *self.gateways)
        self.stop = asyncio.Event()

    @property
    def parts(self) -> Sequence[Part]:
        return [self.database, *self.gateways, *self.workers, self.balancer]

    @contextmanager
    def codex_plays(self) -> Generator[None]:
        """Have a model at the address of the clients that Codex asks from wherever it is."""
        with responses_model(say(REVIEWED), host=self.network.address_of("clients")) as model:
            home = self.workspace.user_home / ".codex"
            home.mkdir()
            (home / "config.toml").write_text(codex_settings(model), "utf-8")
            yield

    def worker_of(self, engine: int) -> Worker:
        """Which worker an engine came from, by the table of processes."""
        [found] = [each for each in self.workers if engine in descendants_of(each.pid)]
        return found


@asynccontextmanager
async def raised(stage: Stage) -> AsyncGenerator[None]:
    """Start all of it, and end all of it."""
    then = ExitStack()
    try:
        then.enter_context(stage.codex_plays())
        await stage.database.make()
        await stage.database.start()
        # The first of a team makes the tables.
        await stage.gateways[0].start()
        rest = [stage.gateways[1], *stage.workers, stage.balancer]
        await asyncio.gather(*(part.start() for part in rest))
        yield
    finally:
        await asyncio.gather(*(part.close() for part in reversed(stage.parts)))
        then.close()


def plans(era: str) -> list[list[str]]:
    """What the clients of one era do, each over and over; one of them has the real Codex work."""
    return [
        ["reviewer" if era == MODERN else "note"],
        *(["note"] for _ in range(11)),
        *(["linger", "note"] for _ in range(3)),
        *(["write"] for _ in range(2)),
        *([kind] for kind in ON_CRASH),
    ]


def members(stage: Stage) -> list[tuple[Member, list[str], float]]:
    """Forty clients, half of each era: what each does, and how long it rests in between."""

    def before(deed: Deed) -> None:
        if deed.kind in ON_CRASH:
            # An engine ends as soon as it has begun, unless somebody holds it.
            stage.staff.let_end(deed.name)

    return [
        (
            Member(stage.balancer.url, f"m{era[:4]}n{number}", era, stage.record, before),
            kinds,
            REST_S[kinds[0] in ASKING],
        )
        for era in ERAS
        for number, kinds in enumerate(plans(era))
    ]
