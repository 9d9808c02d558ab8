"""A home with something of every kind that goes into the database of a team."""

import hashlib
import sqlite3
import subprocess
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from audit.ground import Ground
from cli.commands import Finished, switchboard
from support.postgres import PATIENCE, Cluster
from support.workspace import Workspace
from switchboard.approvals.store.sqlite import SqliteApprovals
from switchboard.core.stores import LastingRule, PinKey
from switchboard.postgres.address import DatabaseAddress
from switchboard.vault.keys.team_key import read_team_keys
from switchboard.vault.postgres_vault import PostgresVault
from team.ground import SECRET

TOKEN = "mcp/github/env/GITHUB_TOKEN"
VALUE = "canary-of-a-home-5512"
KEY = PinKey("github", "f" * 64, "create_issue")
RECORDS = 1203
TABLES = ("pins", "rules", "vault_entries", "audit_records", "audit_heads")


def of_team(address: DatabaseAddress) -> dict[str, str]:
    return {"SWITCHBOARD_DB": address.url, "SWITCHBOARD_TEAM_KEY": SECRET}


class HomeGround:
    """What a user of one machine has after a while, and the command that moves it."""

    def __init__(self, workspace: Workspace, address: DatabaseAddress) -> None:
        self.workspace = workspace
        self.address = address

    async def furnish(self, *, records: int = RECORDS) -> None:
        """Pin two tools, one of them changed since, make a rule, keep a secret, write a log."""
        store = SqliteApprovals(str(self.workspace.home))
        try:
            await store.pin(KEY, "h1", "{definition}")
            await store.pin(KEY, "h2", "{another}")
            await store.pin(PinKey("github", "f" * 64, "list"), "h3", "{ünïcode 日本}")
            rule = LastingRule(
                id="r1", key=KEY, definition="h1", runs="node x", made_at=17.25, made_by="cli"
            )
            await store.add_rule(rule)
        finally:
            await store.aclose()
        self.put(TOKEN, VALUE)
        await Ground(self.workspace.home).write(records)

    def put(self, reference: str, value: str, env: Mapping[str, str] = {}) -> None:
        done = switchboard(self.workspace, "vault", "put", reference, stdin=value, env=env)
        assert done.code == 0, done.err

    def move(self, *words: str, env: Mapping[str, str] = {}) -> Finished:
        """Type the command, with the database in the variable."""
        done = switchboard(
            self.workspace, "state", "move", *words, env={**of_team(self.address), **env}
        )
        assert "canary" not in done.out + done.err
        return done

    def counts(self, *words: str) -> dict[str, tuple[int, int]]:
        """Move, and give how much of each kind is there and how much of it is new."""
        done = self.move(*words, "--json")
        assert done.code == 0, done.err
        return {
            each["kind"]: (each.get("count", 0), each.get("added", 0))
            for each in done.report["kinds"]
        }

    def contents(self) -> dict[str, str]:
        """Tell all files of the home apart by what is in them; of SQLite by its rows."""
        return {
            str(path.relative_to(self.workspace.home)): _digest(path)
            for path in sorted(self.workspace.home.rglob("*"))
            if path.is_file()
            and path.suffix not in {".db-wal", ".db-shm", ".lock"}
            and not path.name.endswith(("-wal", "-shm"))
            and path.parent.name != "run"
        }

    def team_value(self, reference: str) -> str | None:
        """Read a secret as a gateway does."""
        vault = PostgresVault(self.address, read_team_keys(SECRET))
        try:
            return vault.get(reference)
        finally:
            vault.close()


def _digest(path: Path) -> str:
    if path.suffix != ".db":
        return hashlib.sha256(path.read_bytes()).hexdigest()
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as file:
        return hashlib.sha256("\n".join(file.iterdump()).encode()).hexdigest()


def rows_in(postgres: Cluster, address: DatabaseAddress) -> dict[str, object]:
    return {
        table: postgres.run(f"SELECT count(*) FROM switchboard.{table}", address)[0][0]
        for table in TABLES
    }


@contextmanager
def running(ground: HomeGround, *words: str) -> Generator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        ground.workspace.command("state", "move", *words),
        cwd=ground.workspace.root,
        env={**ground.workspace.env, **of_team(ground.address)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(PATIENCE)


def wait_for(fact: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not fact():
        assert time.monotonic() < end
        time.sleep(0.01)
