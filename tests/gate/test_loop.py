"""Nothing that blocks runs on the event loop, and who holds a file of ours holds nobody else."""

import asyncio
import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

from gate.ground import SUITE, Gate, call, fault, run, run_answering, said
from support.endpoints import serving
from support.processes import until_true
from support.requirements import attack
from switchboard.control.client import running_daemon
from switchboard.control.requests import ReloadRequest

OBSERVED = Path(__file__).parent / "observed.py"
LOCKS = {"sqlite3.connect", "fcntl.flock", "fcntl.lockf"}
UNTRUSTING = {"SWITCHBOARD_TRUST_WORKSPACE": "0"}


class Noted(NamedTuple):
    """One thing that could block."""

    is_on_loop: bool
    event: str
    about: str
    who: str


@asynccontextmanager
async def observed(gate: Gate) -> AsyncGenerator[Path]:
    """Give a daemon that writes down what it opens, locks, connects to and starts."""
    notes = gate.workspace.root.parent / "notes"
    daemon = await asyncio.create_subprocess_exec(
        *(sys.executable, str(OBSERVED), str(notes), "daemon", "run"),
        cwd=gate.workspace.root,
        env=gate.workspace.env,
        stdin=subprocess.DEVNULL,
    )
    try:
        await until_true(lambda: _is_up(gate))
        yield notes
    finally:
        gate.workspace.stop_daemon()
        with contextlib.suppress(ProcessLookupError):
            daemon.terminate()
        await daemon.wait()


def _is_up(gate: Gate) -> bool:
    client = running_daemon(gate.workspace.daemon_places)
    if client is not None:
        client.close()
    return client is not None


def reload(gate: Gate) -> object:
    """Have the daemon read its files again, changed or not."""
    client = running_daemon(gate.workspace.daemon_places)
    assert client is not None
    try:
        return client.ask(ReloadRequest())
    finally:
        client.close()


def read(notes: Path) -> list[Noted]:
    found: list[Noted] = []
    for line in notes.read_text("utf-8").splitlines():
        where, event, about, who = line.split("\t")
        found.append(Noted(where == "loop", event, about, who))
    return found


async def test_no_statement_lock_hash_or_probe_runs_on_the_loop_of_the_daemon(gate: Gate) -> None:
    workspace = gate.workspace
    folder = workspace.settings / "mcps" / "ledger"
    (folder / "serve.sh").write_text(f'exec "$@" "{gate.ledger}"\n', "utf-8")
    workspace.child("ledger", ["sh", "serve.sh", *gate.script[:-1]])
    # Its listing needs to know whether there is a sandbox, which is tried.
    workspace.child("boxed", ["true"], sandboxProfile="default")
    assert (await gate.trust()).code == 0
    del workspace.env["SWITCHBOARD_TRUST_WORKSPACE"]
    async with observed(gate) as notes:
        async with gate.window() as client:
            assert SUITE in await client.tools()
            await run_answering(client, "allow_once", "write", text="asked")
            assert await asyncio.to_thread(reload, gate) == {"count": 1}
        found = read(notes)
    blocking = [
        each
        for each in found
        if (
            each.event in {"sqlite3.connect", "fcntl.flock", "fcntl.lockf"}
            and each.about != "tried"
        )
        or "trial.py" in each.who
        or "serve.sh" in each.about
        or "/cache/listings/" in each.about
    ]
    assert [each for each in blocking if each.is_on_loop] == []
    # That they were seen at all: a database, the lock of the log, the probe, the script, a cache.
    off = [each for each in blocking if not each.is_on_loop]
    assert any("approvals.db" in each.about for each in off if each.event == "sqlite3.connect")
    assert any("log-" in each.about for each in off if each.event == "sqlite3.connect")
    assert any(each.event == "fcntl.flock" for each in off)
    assert any("trial.py" in each.who for each in off)
    assert any("serve.sh" in each.about for each in off)
    assert any("/cache/listings/" in each.about for each in off)


async def test_a_listener_waits_for_the_lock_of_its_token_off_the_loop(gate: Gate) -> None:
    async with observed(gate) as notes:
        async with serving(gate.workspace):
            pass
        found = [each for each in read(notes) if "token.py" in each.who]
    assert any(each.event == "fcntl.flock" for each in found)
    assert [each for each in found if each.is_on_loop] == []


HOLDER = dedent(
    """
    import signal, sqlite3, sys

    database = sqlite3.connect(sys.argv[1], isolation_level=None)
    database.execute("BEGIN IMMEDIATE")
    print("held", flush=True)
    signal.pause()
    """
)


@contextmanager
def stopped_holder(database: Path) -> Generator[None]:
    """Hold the write lock of a database by a process that is stopped."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(database)], stdout=subprocess.PIPE, text=True
    ) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            os.kill(holder.pid, signal.SIGSTOP)
            yield
        finally:
            holder.kill()


@attack("A7")
async def test_a_stopped_process_that_holds_the_approvals_holds_nobody_elses_call(
    gate: Gate,
) -> None:
    database = gate.workspace.home / "state" / "approvals.db"
    async with gate.window() as asking, gate.window() as reading:
        # Both are known and warm: what is read needs no approval.
        await run_answering(asking, "allow_once", "write", text="before")
        said(await run(reading, "read"))
        with stopped_holder(database):
            held = asking.begin("tools/call", call("write", text="held"))
            waits: list[float] = []
            until = time.monotonic() + 1.5
            while time.monotonic() < until:
                began = time.monotonic()
                said(await run(reading, "read"))
                waits.append(time.monotonic() - began)
            # SQLite gives up after two seconds; in between the loop was free for everybody else.
            assert max(waits) < 1.0
            assert len(waits) > 3
            refused = fault((await asking.answer_to(held))["result"])
            assert refused["reason"] == "approvals-unavailable"
        assert sqlite3.connect(database).execute("PRAGMA quick_check").fetchone() == ("ok",)
    assert gate.written == ["before"]
