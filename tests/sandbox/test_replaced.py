"""Guarded files that are replaced: while a sandbox is built, and while it runs."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from commands.bench import Bench
from sandbox.den import PATIENCE, SECRET, Den, python
from support.requirements import attack, requirement
from switchboard.core.faults import Fault
from switchboard.procs.spawn import Running, SpawnSpec, spawn
from switchboard.procs.stop import stop
from switchboard.procs.wrapped import Wrapped
from switchboard.sandbox.walls import verified, vigil
from switchboard.sandbox.walls.mounts import MountPlan
from switchkit.reaper_client import Reaper

# Says that it runs, and then tells whatever it can read, until it is ended.
TELLS = """
import sys, time
print("runs", flush=True)
while True:
    for path in sys.argv[1:]:
        try:
            print(open(path).read(), flush=True)
        except OSError:
            pass
    time.sleep(0.2)
"""
EXCHANGES = """
import ctypes, sys
libc = ctypes.CDLL(None)
one, other = (each.encode() for each in sys.argv[1:])
libc.renameat2(-100, one, -100, other, 2)
"""


async def line(running: Running) -> str:
    async with asyncio.timeout(PATIENCE):
        return await asyncio.to_thread(_line, running.stdout.fileno())


def _line(number: int) -> str:
    os.set_blocking(number, True)
    found = b""
    while not found.endswith(b"\n") and (byte := os.read(number, 1)):
        found += byte
    return found.decode()


def saved_as_editors_do(path: Path, text: str) -> None:
    new = path.with_name(f"{path.name}.new")
    new.write_text(text)
    new.rename(path)


def saved_with_a_backup(path: Path, text: str) -> None:
    path.rename(path.with_name(f"{path.name}~"))
    path.write_text(text)


def exchanged(path: Path, text: str) -> None:
    path.with_name("other").write_text(text)
    command = (sys.executable, "-c", EXCHANGES, path, path.with_name("other"))
    subprocess.run(command, check=True)


def checked_out_anew(path: Path, text: str) -> None:
    path.unlink()
    path.write_text(text)


def made_under_the_same_number(path: Path, text: str) -> None:
    """A file system gives numbers anew: then only the mount that is gone tells of it."""
    number = path.stat().st_ino
    path.unlink()
    for each in range(3_000):
        other = path.with_name(f"other-{each}")
        other.write_text(text)
        if other.stat().st_ino == number:
            other.rename(path)
            return
    path.write_text(text)


@pytest.mark.parametrize(
    "save", [saved_as_editors_do, saved_with_a_backup, exchanged, checked_out_anew]
)
@pytest.mark.parametrize("name", [".env", "app/.env", ".mcp.json"])
@attack("B6")
async def test_a_sandbox_whose_guard_fell_off_is_ended(den: Den, name: str, save: object) -> None:
    """The user saves `.env`, or checks out `.mcp.json`, while a confined server runs."""
    path = den.workspace / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("as it was")
    async with den.started(python(TELLS, "/nothing")) as running:
        assert await line(running) == "runs\n"
        assert callable(save)
        save(path, SECRET)
        async with asyncio.timeout(PATIENCE):
            await running.exited
        told = running.denial()
    assert told is not None
    assert (told.reason, told.details["path"]) == ("sandbox-guard-lost", name)
    assert f"`{name}` was replaced while it ran" in told.message


@attack("B6")
async def test_a_guard_that_shows_late_is_missed_all_the_same_when_it_is_lost(
    den: Den, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table of mounts is short of lines while a sandbox enters its root."""
    path = den.workspace / ".mcp.json"
    path.write_text("as it was")
    readings = count()
    read = vigil._mounted  # pyright: ignore[reportPrivateUsage]

    def slow(process: int) -> Any:
        # As it was found on a machine with much to do: nothing, the old root alone, a part.
        table, number = read(process), next(readings)
        assert table is not None
        return table[: (0, 3, len(table) // 2)[number]] if number < 3 else table

    monkeypatch.setattr(vigil, "_mounted", slow)
    async with den.started(python(TELLS, "/nothing")) as running:
        assert await line(running) == "runs\n"
        made_under_the_same_number(path, SECRET)
        async with asyncio.timeout(PATIENCE):
            await running.exited
        told = running.denial()
    assert told is not None
    assert (told.reason, told.details["path"]) == ("sandbox-guard-lost", ".mcp.json")


async def test_a_repository_that_is_cloned_anew_ends_it_too(den: Den) -> None:
    """Its folder was pinned, and its hooks read-only: those of the new one are not."""
    nested = den.repository("deep/nested")
    async with den.started(python(TELLS)) as running:
        assert await line(running) == "runs\n"
        nested.rename(den.workspace.parent / "away")
        den.repository("deep/nested")
        async with asyncio.timeout(PATIENCE):
            await running.exited
        told = running.denial()
    assert told is not None
    assert told.reason == "sandbox-guard-lost"


async def test_what_is_not_guarded_may_change_and_so_may_the_content_of_what_is(den: Den) -> None:
    den.repository()
    (den.workspace / ".env").write_text("as it was")
    (den.workspace / "app").mkdir()
    (den.workspace / "app" / ".env").write_text("as it was")
    source = den.workspace / "source"
    async with den.started(python(TELLS, str(source))) as running:
        assert await line(running) == "runs\n"
        for number in range(20):
            saved_as_editors_do(source, "source")
            (den.workspace / f"new-{number}").write_text("x")
        (den.workspace / ".env").write_text("longer than it was")
        (den.workspace / ".git" / "index").write_text("x")
        # The guard goes along with the folder.
        (den.workspace / "app").rename(den.workspace / "other")
        assert await line(running) == "source\n"
        assert await line(running) == "source\n"
        assert not running.exited.done()


async def test_a_tool_says_why_it_was_ended(bench: Bench) -> None:
    (bench.root / ".env").write_text("as it was")
    (bench.root / "swap").write_text(SECRET)
    program = "import time; print(1, flush=True); time.sleep(60)"
    bench.python("waits", program)
    calling = asyncio.ensure_future(bench.refused("waits"))
    while not calling.done():
        saved_as_editors_do(bench.root / ".env", SECRET)
        await asyncio.wait({calling}, timeout=0.2)
    fault = await calling
    # Also while it was being built, which a slow machine takes long for.
    assert fault.reason in {"sandbox-guard-lost", "sandbox-changed"}


@pytest.fixture
def bench(den: Den) -> Bench:
    place = den.workspace.parent / "bench"
    place.mkdir()
    return Bench(place)


READS = """
import os, sys
for top in sys.argv[1:]:
    for folder, _, names in os.walk(top):
        for name in names:
            try:
                print(open(os.path.join(folder, name)).read())
            except OSError:
                pass
"""


async def started_late(den: Den, exchange: Callable[[Wrapped], Wrapped], **more: Any) -> None:
    """Start a program that reads all of the den, with an exchange between plan and mounts."""
    spec = den.spec(python(READS, str(den.workspace), str(den.home)), **more)

    def late(inner: SpawnSpec) -> Wrapped:
        assert spec.wrap is not None
        return exchange(spec.wrap(inner))

    reaper = Reaper()
    try:
        running = await spawn(replace(spec, wrap=late), reaper=reaper, timeout_s=PATIENCE)
        running.stdin.close()
        told = await line(running)
        await stop(running, close_input=running.stdin.close)
        running.stdout.close()
        pytest.fail(f"it ran, and told {told!r}")
    finally:
        await asyncio.to_thread(reaper.close)


@pytest.fixture
def nobody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that only the look before the start can see what was exchanged."""

    def watched(_plan: MountPlan) -> vigil.MountVigil:
        return vigil.MountVigil((), (os.sep,))

    monkeypatch.setattr(verified, "watched", watched)


@pytest.mark.usefixtures("nobody_watches")
@requirement("S3.18")
@attack("B7")
async def test_a_folder_exchanged_for_a_link_while_the_sandbox_is_built_opens_nothing(
    den: Den,
) -> None:
    """A confined program exchanges `.vscode` and a link to papers while another one starts.

    Bubblewrap looks at a name twice: for what it mounts, and for where. This is the moment in
    which the first is the link and the second the folder again.
    """
    folder, link = den.workspace / ".vscode", den.workspace / "link"
    folder.mkdir()
    link.symlink_to("../home/papers")
    (den.home / "papers").mkdir()
    (den.home / "papers" / "notes").write_text(SECRET)

    def exchange(wrapped: Wrapped) -> Wrapped:
        meant, made = (b"%s\0%s\0" % (bytes(each), bytes(folder)) for each in (folder, link))
        assert wrapped.orders.count(meant) == 1
        return replace(wrapped, orders=wrapped.orders.replace(meant, made))

    with pytest.raises(Fault) as caught:
        await started_late(den, exchange)
    assert caught.value.reason == "sandbox-changed"


@pytest.mark.usefixtures("nobody_watches")
@attack("T25")
async def test_a_folder_exchanged_after_the_plan_is_not_hidden_in_vain(den: Den) -> None:
    """The mask would lie in the other folder, and what it is for would be bare."""
    app, decoy = den.workspace / "app", den.workspace / "decoy"
    for folder in (app, decoy):
        folder.mkdir()
        (folder / ".env").write_text(SECRET)

    def exchange(wrapped: Wrapped) -> Wrapped:
        app.rename(den.workspace / "third")
        decoy.rename(app)
        return wrapped

    with pytest.raises(Fault) as caught:
        await started_late(den, exchange)
    assert caught.value.reason == "sandbox-changed"


@attack("T25")
async def test_a_folder_that_is_opened_is_the_one_that_was_judged(den: Den) -> None:
    """Nobody guards it while the program runs: it lies where nothing else of the home shows."""
    docs, papers = den.home / "docs", den.home / "papers"
    for folder in (docs, papers):
        folder.mkdir()
    (papers / "notes").write_text(SECRET)

    def exchange(wrapped: Wrapped) -> Wrapped:
        docs.rename(den.home / "away")
        papers.rename(docs)
        return wrapped

    with pytest.raises(Fault) as caught:
        await started_late(den, exchange, read_roots=(str(docs),))
    assert caught.value.reason == "sandbox-changed"
