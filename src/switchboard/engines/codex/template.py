"""Databases of Codex as it leaves them after a first start, for homes that are made later.

In an empty home Codex first makes six databases, in some eighty steps: half of the time until it
can be talked to. So one start is made for nobody, without the user's settings, login or secrets,
and what it leaves is copied into every new home. It belongs to one program: another version has
other steps.
"""

import asyncio
import contextlib
import glob
import os
import shutil
import sqlite3
import time
from collections.abc import Awaitable, Callable
from hashlib import sha256

from switchboard.engines.codex.app_server import START_S, AppServer, ServerRefused
from switchboard.engines.codex.program import CodexProgram, program_state
from switchkit.files import make_private_folder

# Of so many programs the databases are kept, the oldest going first.
_MOST = 3
_ABANDONED_S = 86_400.0
_DATABASES = "*.sqlite"

# Starts Codex in a home of its own that is nobody's.
Start = Callable[[str], Awaitable[AppServer]]


class HomeTemplates:
    """What new homes begin with, in a folder of the cache."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        # Those that could not be made: a second try would fail as the first.
        self._refused: set[str] = set()

    def begin(self, home: str, program: CodexProgram) -> None:
        """Make a home with what is there for it, or leave that to Codex. Blocks.

        A home that is there stays as it is.
        """
        template, making = self._of(program), f"{home}.new"
        if os.path.lexists(home) or not os.path.isdir(template):
            return
        try:
            shutil.rmtree(making, ignore_errors=True)
            make_private_folder(making)
            for path in glob.glob(os.path.join(glob.escape(template), _DATABASES)):
                shutil.copyfile(path, os.path.join(making, os.path.basename(path)))
            # Whole or not at all: a part of a database would be a broken one.
            os.rename(making, home)
        except OSError:
            shutil.rmtree(making, ignore_errors=True)

    async def prepare(self, program: CodexProgram, start: Start) -> None:
        """Have a template for this program. One that cannot be made is done without."""
        template = await asyncio.to_thread(self._of, program)
        if template in self._refused or await asyncio.to_thread(os.path.isdir, template):
            return
        making = f"{template}.{os.getpid()}"
        try:
            home = os.path.join(making, "home")
            server = await start(home)
            try:
                await _open_all(server, home)
            finally:
                await server.aclose()
            await asyncio.to_thread(_keep, home, template)
            await asyncio.to_thread(self._drop_old)
        except Exception:  # noqa: BLE001 - runs start without it, only later
            self._refused.add(template)
        finally:
            await asyncio.to_thread(shutil.rmtree, making, ignore_errors=True)

    def _of(self, program: CodexProgram) -> str:
        digest = sha256(repr(program_state(program)).encode()).hexdigest()
        return os.path.join(self._folder, f"codex-{digest[:16]}")

    def _drop_old(self) -> None:
        ages = {each.path: each.stat().st_mtime for each in os.scandir(self._folder)}
        whole = [path for path in ages if "." not in os.path.basename(path)]
        whole.sort(key=lambda path: ages[path])
        # A process that was killed leaves what it was making.
        left = {path for path in ages if ages[path] < time.time() - _ABANDONED_S} - set(whole)
        for path in (*whole[:-_MOST], *left):
            shutil.rmtree(path, ignore_errors=True)


async def _open_all(server: AppServer, home: str) -> None:
    """Have it make those databases, too, that it makes with a first conversation.

    Without a model: one that has a name is written down, and is then removed again.
    """
    opening = {"cwd": home, "sandbox": "read-only"}
    # What another version does not know is made later, by the run that needs it.
    with contextlib.suppress(ServerRefused):
        opened = await server.request("thread/start", opening, within_s=START_S)
        thread = {"threadId": opened["thread"]["id"]}
        await server.request("thread/name/set", {**thread, "name": "none"}, within_s=START_S)
        await server.request("thread/delete", thread, within_s=START_S)


def _keep(home: str, template: str) -> None:
    """Keep the databases of a home that nobody uses any more. Raises OSError or sqlite3.Error."""
    kept = f"{home}.kept"
    make_private_folder(kept)
    try:
        for path in glob.glob(os.path.join(glob.escape(home), _DATABASES)):
            # What Codex wrote last lies beside the file until somebody puts it in.
            with contextlib.closing(sqlite3.connect(path)) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            shutil.copyfile(path, os.path.join(kept, os.path.basename(path)))
        os.rename(kept, template)
    finally:
        shutil.rmtree(kept, ignore_errors=True)
