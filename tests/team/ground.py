"""Two gateways of one team behind a real load balancer, on one machine."""

import asyncio
import signal
import socket
import subprocess
import time
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Protocol

import httpx2

from cli.commands import report_of
from docs.pages import blocks_of
from gate.ground import Gate
from support.processes import until_true
from support.workspace import Workspace
from switchboard.audit.key import AuditKey
from switchboard.audit.postgres.store import PostgresAudit
from switchboard.postgres.address import DatabaseAddress
from switchboard.vault.keys.team_key import TeamKey

PATIENCE = 60.0
SECRET = "canary-secret-of-a-team-for-tests-1"
TOKEN = "a-token-for-tests-of-a-team"
BEARER = {"authorization": f"Bearer {TOKEN}"}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def http_client() -> httpx2.AsyncClient:
    """Somebody with the token of the team."""
    return httpx2.AsyncClient(headers=BEARER, trust_env=False, timeout=PATIENCE)


def team_log(address: DatabaseAddress) -> PostgresAudit:
    """The audit log of a team, for one who closes it."""
    key = AuditKey(TeamKey(SECRET.encode()).derived("audit"))
    return PostgresAudit(address, "reader", key)


class Configured(Protocol):
    """Whoever has set up a workspace."""

    @property
    def workspace(self) -> Workspace: ...


class Gateway:
    """A running `switchboard serve --http --db`."""

    def __init__(
        self, process: asyncio.subprocess.Process, url: str, errors: "asyncio.Future[bytes]"
    ) -> None:
        self.process = process
        self.url = url
        # All that it says on stderr, once it has ended.
        self.errors = errors

    @property
    def origin(self) -> str:
        return self.url.rpartition("/")[0]


@asynccontextmanager
async def gateway(
    gate: Configured,
    address: DatabaseAddress,
    *words: str,
    env: Mapping[str, str] = {},
    port: int = 0,
    # Of another version than ours, which may not know how to linger: None.
    program: Sequence[str] = (),
    linger_s: int | None = 0,
) -> AsyncGenerator[Gateway]:
    """Run one, with the database named by the variable."""
    workspace = gate.workspace
    stops = () if linger_s is None else ("--linger", str(linger_s))
    process = await asyncio.create_subprocess_exec(
        *(program or workspace.command()),
        *("serve", "--http", "--port", str(port), "--json", *stops, *words),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=workspace.root,
        env={
            **workspace.env,
            "SWITCHBOARD_TOKEN": TOKEN,
            "SWITCHBOARD_TEAM_KEY": SECRET,
            "SWITCHBOARD_DB": address.url,
            **env,
        },
    )
    assert process.stdout is not None
    assert process.stderr is not None
    reading = asyncio.ensure_future(process.stderr.read())
    try:
        async with asyncio.timeout(PATIENCE):
            try:
                text = (await process.stdout.readuntil(b"\n}\n")).decode()
            except asyncio.IncompleteReadError:
                raise AssertionError((await reading).decode()) from None
        assert '"url"' in text, text
        yield Gateway(process, report_of(text)["url"], reading)
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()
        await reading


class Balancer:
    """A running nginx, which gives each request to the next gateway."""

    def __init__(self, folder: Path, port: int, upstreams: Sequence[str]) -> None:
        self._folder = folder
        self._port = port
        self._upstreams = upstreams
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/mcp"

    def start(self) -> None:
        self._folder.mkdir()
        self._configure("")
        words = ["nginx", "-c", str(self._config), "-p", str(self._folder)]
        words += ["-e", str(self._folder / "error.log")]
        self._process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE
        while not self._answers():
            assert self._process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.02)

    async def take_out(self, upstream: str) -> None:
        """Send no more requests to one of them, and wait for those that it has.

        An empty word takes all of them in again.
        """
        assert self._process is not None
        before = self._workers()
        self._configure(upstream)
        self._process.send_signal(signal.SIGHUP)
        # Whoever served with the configuration of before ends with its last request.
        await until_true(lambda: bool(now := self._workers()) and now.isdisjoint(before))

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(PATIENCE)

    def _workers(self) -> set[str]:
        assert self._process is not None
        pid = self._process.pid
        return set(Path(f"/proc/{pid}/task/{pid}/children").read_text("utf-8").split())

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self._port), 1).close()
        except OSError:
            return False
        return True

    @property
    def _config(self) -> Path:
        return self._folder / "nginx.conf"

    def _configure(self, out: str) -> None:
        folder = self._folder
        [shown] = [block.text for block in blocks_of("docs/team.md") if "proxy_pass" in block.text]
        group, where, location = shown.partition("location")
        assert [f"10.0.0.1{number}:8081" in group for number in (1, 2)] == [True, True]
        for number, each in enumerate(self._upstreams, 1):
            place = each.rpartition("/")[2] + (" down" if each == out else "")
            group = group.replace(f"10.0.0.1{number}:8081", place)
        self._config.write_text(
            f"""
        daemon off; user root; pid {folder}/pid; error_log {folder}/error.log;
        events {{ worker_connections 512; }}
        http {{
            access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
            fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
            {group}
            server {{ listen 127.0.0.1:{self._port}; {where}{location} }}
        }}"""
        )


@contextmanager
def balancing(folder: Path, port: int, *upstreams: str) -> Generator[Balancer]:
    """Run nginx as our page says."""
    balancer = Balancer(folder, port, upstreams)
    try:
        balancer.start()
        yield balancer
    finally:
        balancer.stop()


@contextmanager
def balancer(folder: Path, port: int, *upstreams: str) -> Generator[str]:
    """Run nginx as our page says; gives its address."""
    with balancing(folder, port, *upstreams) as running:
        yield running.url


class TeamOfTwo:
    """Two gateways and the address in front of them."""

    def __init__(self, url: str, gateways: list[Gateway], address: DatabaseAddress) -> None:
        self.url = url
        self.gateways = gateways
        self.address = address

    def log(self) -> PostgresAudit:
        """The audit log, for one who closes it."""
        return team_log(self.address)


@asynccontextmanager
async def team_of_two(
    gate: Gate, address: DatabaseAddress, folder: Path
) -> AsyncGenerator[TeamOfTwo]:
    port = free_port()
    async with AsyncExitStack() as then:
        name = ("--name", f"127.0.0.1:{port}")
        gateways = [await then.enter_async_context(gateway(gate, address, *name)) for _ in range(2)]
        url = then.enter_context(balancer(folder, port, *(each.origin for each in gateways)))
        yield TeamOfTwo(url, gateways, address)
