"""DBOS, and the only module that knows it: attempts at runs, as workflows in a file of the home.

Those of a team are in its database, in a schema of their own.

It is slow to load, so whoever imports this does so on a thread, with the first run.
"""

import contextlib
import logging
import os
import sqlite3
import threading
from collections.abc import Awaitable, Callable, Generator
from typing import Any

import msgspec
from dbos import DBOS, DBOSConfig, Serializer, SetWorkflowID
from dbos._utils import GlobalParams

from switchboard.runs.places import ENGINE_FILE, FOLDER
from switchkit.files import make_folder, make_private_file
from switchkit.locks import FileLock

# Another one only when what a workflow does has changed.
_VERSION = "runs-1"
_POLL_S = 1.0
_PENDING = "PENDING"
_CONNECTIONS = 4

# Does an attempt to its end, in the loop of whoever began it.
Body = Callable[[], Awaitable[None]]


class _Json(Serializer):
    """Who can write the file must not have us run code: no pickle."""

    def serialize(self, data: Any) -> str:
        return msgspec.json.encode(data, enc_hook=str).decode()

    def deserialize(self, serialized_data: str) -> Any:
        return msgspec.json.decode(serialized_data)

    def name(self) -> str:
        return "json"


class _Handler(logging.Handler):
    """Passes on what DBOS complains about."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        self._tell(record.getMessage())


# DBOS is one object of the process: the next is launched when the last is gone, which may take a
# while after nobody waits for it any more.
_only_one = threading.Lock()
# A workflow is a function of the module, and finds here what it is to do.
_bodies: dict[str, Body] = {}


@DBOS.workflow(name="attempt")
async def _attempt(key: str) -> None:
    body = _bodies.get(key)
    if body is not None:
        # How it went is in the store, whose word counts.
        with contextlib.suppress(Exception):
            await body()


class DbosEngine:
    """One launched DBOS. There is one in a process; its methods run in its own loop."""

    def __init__(
        self, home: str, *, executor: str, tell: Callable[[str], None], database: str = ""
    ) -> None:
        """`executor` names this process, and no other one, ever."""
        self._folder = os.path.join(home, FOLDER)
        self._database = database
        self._executor = executor
        self._tell = tell
        self._handler = _Handler(tell)
        # Whether the one DBOS of the process is this engine's.
        self._is_ours = False

    def launch(self) -> None:
        """Open the file, made if need be. Blocks; to be called in the loop that is its own."""
        path = os.path.join(self._folder, ENGINE_FILE)
        if not self._database:
            make_folder(self._folder)
            make_private_file(path)
        logger = logging.getLogger("dbos")
        logger.propagate = False
        logger.handlers = [self._handler]
        # By a variable of the environment it would report to a service.
        GlobalParams.dbos_cloud = False
        config: DBOSConfig = {
            "name": "switchboard",
            "system_database_url": self._database or f"sqlite:///{path}",
            "application_version": _VERSION,
            "executor_id": self._executor,
            "serializer": _Json(),
            "enable_otlp": False,
            "log_level": "WARNING",
            "notification_listener_polling_interval_sec": _POLL_S,
        }
        if self._database:
            # A note for each run, and what DBOS does by itself.
            config["sys_db_pool_size"] = _CONNECTIONS
        _only_one.acquire()
        self._is_ours = True
        try:
            with self._alone(path):
                DBOS(config=config)
                DBOS.launch()
        except BaseException:
            self.close()
            raise

    @contextlib.contextmanager
    def _alone(self, path: str) -> Generator[None]:
        """Two processes that make the tables of a file at the same time break each other."""
        if self._database:
            yield
            return
        with FileLock(f"{path}.lock"):
            with contextlib.closing(sqlite3.connect(path)) as connection:
                connection.execute("PRAGMA journal_mode = WAL")
            yield

    async def begin(self, key: str, body: Body) -> None:
        """Write an attempt down, and have it done. A key that was there before is not begun."""
        _bodies[key] = body
        with SetWorkflowID(key):
            handle = await DBOS.start_workflow_async(_attempt, key)
        try:
            await handle.get_result(polling_interval_sec=_POLL_S)
        finally:
            _bodies.pop(key, None)
        await DBOS.delete_workflow_async(key)

    async def forget(self, is_gone: Callable[[str], bool]) -> None:
        """Take away what processes left that are gone: the store knows what becomes of it."""
        found = await DBOS.list_workflows_async(load_input=False, load_output=False)
        old = [
            each.workflow_id
            for each in found
            if each.executor_id != self._executor and is_gone(each.executor_id or "")
        ]
        if old:
            await DBOS.delete_workflows_async(old)

    def close(self) -> None:
        """Let go of the file. What is under way stays written down. Blocks for a second.

        Nothing to do a second time, or where it was never launched: DBOS may be another's by then.
        """
        if not self._is_ours:
            return
        self._is_ours = False
        try:
            DBOS.destroy()
        finally:
            # Without any handler, Python would print what is still said.
            logging.getLogger("dbos").handlers = [logging.NullHandler()]
            _only_one.release()
