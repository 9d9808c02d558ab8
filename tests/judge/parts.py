"""What a team is made of, each a real program in a network of its own, under a supervisor."""

import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from signal import SIGCONT, Signals

import httpx2
import psycopg

from docs.pages import blocks_of
from judge.network import Network
from support.postgres import as_postgres, program
from support.workspace import Workspace
from switchboard.postgres.address import DatabaseAddress
from team.ground import SECRET, TOKEN

PATIENCE = 60.0
RESTART_S = 0.5
DATABASE_PORT = 5432
GATEWAY_PORT = 8081
BALANCER_PORT = 8080


class Part:
    """A program that is started again whenever it ends, as a supervisor does."""

    def __init__(self, network: Network, name: str, folder: Path) -> None:
        self.network = network
        self.name = name
        self.address = network.add(name)
        # How it ended, each time.
        self.codes: list[int] = []
        self.starts = 0
        self._log = folder / f"{name}.log"
        # Where the words of its last start begin.
        self._heard = 0
        self._process: asyncio.subprocess.Process | None = None
        self._ended = asyncio.Event()
        self._is_wanted = asyncio.Event()
        self._is_down = asyncio.Event()
        self._keeping: asyncio.Task[None] | None = None

    def words(self) -> list[str]:
        raise NotImplementedError

    def env(self) -> Mapping[str, str]:
        return {"PATH": os.environ["PATH"]}

    async def is_up(self) -> bool:
        raise NotImplementedError

    @property
    def folder(self) -> Path:
        return Path("/")

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def said(self) -> str:
        """What it has said since its last start."""
        return self._log.read_bytes()[self._heard :].decode("utf-8", "replace")

    async def start(self) -> None:
        """Have it run from now on, and wait until it serves."""
        self._is_wanted.set()
        if self._keeping is None:
            self._keeping = asyncio.ensure_future(self._keep())
        await self.up()

    async def up(self) -> None:
        """Wait until it serves."""
        end = time.monotonic() + PATIENCE
        while not await self.is_up():
            assert self._keeping is not None
            assert not self._keeping.done(), self._keeping.exception()
            assert time.monotonic() < end, f"{self.name} does not come up: {self.said[-2000:]}"
            await asyncio.sleep(0.05)

    def send(self, number: Signals) -> None:
        os.kill(self.pid, number)

    async def end(self, number: Signals, *, stays_away: bool = False) -> None:
        """Send it a signal, and wait until it has ended. It comes back, or stays away."""
        count = len(self.codes)
        if stays_away:
            self._is_wanted.clear()
        self.send(number)
        async with asyncio.timeout(PATIENCE):
            while len(self.codes) == count:
                self._ended.clear()
                await self._ended.wait()

    async def ends(self, times: int) -> None:
        """Wait until it has ended so often."""
        async with asyncio.timeout(PATIENCE):
            while len(self.codes) < times:
                self._ended.clear()
                await self._ended.wait()

    async def close(self) -> None:
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.wait({self._keeping})
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.send_signal(SIGCONT)
                self._process.kill()
            await self._process.wait()

    async def _keep(self) -> None:
        while True:
            await self._is_wanted.wait()
            with self._log.open("ab") as log:
                self._heard = log.tell()
                self._process = await asyncio.create_subprocess_exec(
                    *self.network.command(self.name),
                    *self.words(),
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd=self.folder,
                    env=self.env(),
                )
            self.starts += 1
            code = await self._process.wait()
            self.codes.append(code)
            self._ended.set()
            if code > 0:
                # What cannot start is not tried without a pause.
                await asyncio.sleep(RESTART_S)


class Database(Part):
    """PostgreSQL, whose data outlive it."""

    def __init__(self, network: Network, folder: Path) -> None:
        super().__init__(network, "db", folder)
        # Every folder above it must be open to the user that it runs as.
        self.data = Path(tempfile.mkdtemp(prefix="switchboard-judge-", dir="/var/tmp"))
        if os.geteuid() == 0:
            shutil.chown(self.data, "postgres", "postgres")

    @property
    def url(self) -> DatabaseAddress:
        return DatabaseAddress(f"postgresql://postgres@{self.address}:{DATABASE_PORT}/postgres")

    async def make(self) -> None:
        words = [program("initdb"), "-D", str(self.data / "data"), "-U", "postgres", "-A", "trust"]
        words += ["-E", "UTF8", "--locale=C.UTF-8", "--no-sync"]
        made = await asyncio.create_subprocess_exec(
            *as_postgres(), *words, cwd="/", stdout=asyncio.subprocess.DEVNULL
        )
        assert await made.wait() == 0
        with (self.data / "data" / "pg_hba.conf").open("a") as rules:
            rules.write("host all all 10.77.0.0/24 trust\n")

    def words(self) -> list[str]:
        # A process that ended with kill -9 has lost nothing that the kernel had.
        settings = {
            "listen_addresses": self.address,
            "port": str(DATABASE_PORT),
            "unix_socket_directories": str(self.data),
            "fsync": "off",
            "full_page_writes": "off",
            "max_connections": "200",
        }
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        return [*as_postgres(), program("postgres"), "-D", str(self.data / "data"), *options]

    async def is_up(self) -> bool:
        try:
            await asyncio.to_thread(self.rows, "SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        with psycopg.connect(self.url.url, autocommit=True, connect_timeout=2) as connection:
            return connection.execute(sql).fetchall()  # type: ignore[arg-type]

    async def close(self) -> None:
        await super().close()
        shutil.rmtree(self.data, ignore_errors=True)


class Ours(Part):
    """A process of Switchboard."""

    def __init__(
        self,
        network: Network,
        name: str,
        folder: Path,
        *,
        workspace: Workspace,
        database: DatabaseAddress,
        lease_s: float,
    ) -> None:
        super().__init__(network, name, folder)
        self._workspace = workspace
        self._database = database
        self._lease_s = lease_s

    @property
    def folder(self) -> Path:
        return self._workspace.root

    def env(self) -> Mapping[str, str]:
        return {
            **self._workspace.env,
            "SWITCHBOARD_TOKEN": TOKEN,
            "SWITCHBOARD_TEAM_KEY": SECRET,
            "SWITCHBOARD_DB": self._database.url,
            "SWITCHBOARD_TEAM_LEASE": f"{self._lease_s:g}",
        }


class Gateway(Ours):
    """`switchboard serve --http`, known to clients by the name of the load balancer."""

    named = ""

    @property
    def origin(self) -> str:
        return f"http://{self.address}:{GATEWAY_PORT}"

    def words(self) -> list[str]:
        words = ("--host", self.address, "--allow-remote", "--port", str(GATEWAY_PORT))
        more = ("--name", self.named, "--reached-at", self.origin, "--json")
        # The load balancer goes on by itself: it needs no time to see that one is about to stop.
        return self._workspace.command("serve", "--http", "--linger", "0", *words, *more)

    async def is_up(self) -> bool:
        try:
            async with httpx2.AsyncClient(trust_env=False, timeout=5) as http:
                return (await http.get(f"{self.origin}/readyz")).status_code == 200
        except httpx2.HTTPError:
            return False


class Worker(Ours):
    """`switchboard worker`."""

    def words(self) -> list[str]:
        return self._workspace.command("worker", "--json", "--max-runs", "8")

    async def is_up(self) -> bool:
        return self.starts > len(self.codes) and '"worker"' in self.said


class Balancer(Part):
    """nginx as our page shows it, which says in each answer which gateway it is from."""

    def __init__(self, network: Network, folder: Path, *gateways: Gateway) -> None:
        super().__init__(network, "lb", folder)
        self._place = folder / "nginx"
        self._place.mkdir()
        [shown] = [block.text for block in blocks_of("docs/team.md") if "proxy_pass" in block.text]
        group, where, location = shown.partition("location")
        for number, each in enumerate(gateways, 1):
            there = f"10.0.0.1{number}:8081"
            assert there in group
            group = group.replace(there, f"{each.address}:{GATEWAY_PORT}")
        temporary = "".join(
            f"{kind}_temp_path {self._place}/{kind};"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        (self._place / "nginx.conf").write_text(
            f"""
            daemon off; master_process off; pid {self._place}/pid;
            events {{ worker_connections 1024; }}
            http {{
                access_log off; {temporary}
                {group}
                server {{
                    listen {self.address}:{BALANCER_PORT};
                    add_header x-upstream $upstream_addr always;
                    {where}{location}
                }}
            }}"""
        )
        for each in gateways:
            each.named = f"{self.address}:{BALANCER_PORT}"

    @property
    def url(self) -> str:
        return f"http://{self.address}:{BALANCER_PORT}/mcp"

    def words(self) -> list[str]:
        place = self._place
        return ["nginx", "-c", f"{place}/nginx.conf", "-p", str(place), "-e", f"{place}/error.log"]

    async def is_up(self) -> bool:
        try:
            _, writer = await asyncio.open_connection(self.address, BALANCER_PORT)
        except OSError:
            return False
        writer.close()
        return True
