"""A real PostgreSQL on loopback for as long as the tests run, with a database for each of them."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from itertools import count
from pathlib import Path
from typing import LiteralString, cast

import psycopg

from switchboard.postgres.address import DatabaseAddress
from switchboard.postgres.database import Part
from switchboard.postgres.schema import prepare

PATIENCE = 60.0
_DEBIAN = Path("/usr/lib/postgresql")


def program(name: str) -> str:
    found = shutil.which(name)
    if found:
        return found
    return str(max(_DEBIAN.glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3])))


def as_postgres() -> list[str]:
    """How a program is run as somebody whom PostgreSQL accepts, and ends with these tests."""
    words = ["setpriv", "--pdeathsig", "QUIT"]
    if os.geteuid() == 0:
        words += ["--reuid=postgres", "--regid=postgres", "--clear-groups"]
    return [*words, "--"]


class Cluster:
    """One server and its data, which outlive a crash of the server."""

    def __init__(self, within: Callable[[Path], Sequence[str]] = lambda _: ()) -> None:
        """`within` has what its programs are run by, once its folder is there."""
        # Every folder above it must be open to the user that it runs as.
        self.folder = Path(tempfile.mkdtemp(prefix="switchboard-postgres-", dir="/var/tmp"))
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
        self._within = tuple(within(self.folder))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self._numbers = count(1)
        self._process: subprocess.Popen[bytes] | None = None
        words = [program("initdb"), "-D", str(self._data), "-U", "postgres", "-A", "trust"]
        words += ["-E", "UTF8", "--locale=C.UTF-8", "--no-sync"]
        words = [*self._within, *as_postgres(), *words]
        subprocess.run(words, check=True, cwd="/", capture_output=True)

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def start(self) -> None:
        """Come up, or come back."""
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": str(self.folder),
            "fsync": "off",
            "full_page_writes": "off",
            "max_connections": "200",
            "log_min_messages": "fatal",
        }
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        self._process = subprocess.Popen(
            [*self._within, *as_postgres(), program("postgres"), "-D", str(self._data), *options],
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        end = time.monotonic() + PATIENCE
        while True:
            try:
                self.run("SELECT 1")
            except psycopg.OperationalError:
                assert self._process.poll() is None
                assert time.monotonic() < end
                time.sleep(0.05)
            else:
                return

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def crash(self) -> None:
        """End at once, as if the machine had."""
        assert self._process is not None
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(PATIENCE)
        self._process = None

    def remove(self) -> None:
        if self._process is not None:
            self.crash()
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, sql: str, where: DatabaseAddress | None = None) -> list[tuple[object, ...]]:
        """Do something as the owner of everything; gives what was found."""
        where = where or self.address("postgres")
        with psycopg.connect(where.url, autocommit=True) as connection:
            found = connection.execute(cast("LiteralString", sql))
            return found.fetchall() if found.description is not None else []

    def address(self, database: str) -> DatabaseAddress:
        return DatabaseAddress(f"postgresql://postgres@127.0.0.1:{self.port}/{database}")

    def cut(self, address: DatabaseAddress) -> None:
        """End every connection to a database."""
        name = address.url.rpartition("/")[2]
        self.run(
            f"SELECT pg_terminate_backend(pid, {PATIENCE * 1000:.0f}) FROM pg_stat_activity"
            f" WHERE datname = '{name}'"
        )

    @contextlib.contextmanager
    def database(self, parts: Sequence[Part] = ()) -> Generator[DatabaseAddress]:
        """Give a new database, with the tables of some parts."""
        name = f"test_{next(self._numbers)}"
        template = "_".join(("with", *(part.name for part in parts))) if parts else "template1"
        # Made once: a copy of a whole database is quicker than its tables.
        if not self.run(f"SELECT 1 FROM pg_database WHERE datname = '{template}'"):
            self.run(f"CREATE DATABASE {template}")
            prepare(self.address(template), parts)
        self.run(f"CREATE DATABASE {name} TEMPLATE {template}")
        try:
            yield self.address(name)
        finally:
            self.run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
