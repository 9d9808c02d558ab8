"""A private SQLite file that every process of a user shares, with a schema that grows in steps."""

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Generator, Sequence
from typing import Any

from switchkit.files import make_folder, make_private_file

# Between two tries to make a file one that is written ahead of.
_PAUSE_S = 0.005


class SqliteFile:
    """One connection. Belongs to the thread that opened it."""

    def __init__(
        self,
        path: str,
        *,
        steps: Sequence[str],
        busy_s: float,
        failure: Callable[[str], Exception],
    ) -> None:
        """Open or make the file. Raises a failure when it is not ours alone, too.

        `steps` are what each version of the schema brought: an older file is brought up to date, a
        newer one is let be. For `busy_s` it waits for another process. `failure` makes what is
        raised of an error in words.
        """
        self._failure = failure
        self._is_lasting = False
        with self._failing():
            self._connection = _connect(path, steps, busy_s)

    def rows(self, query: str, *values: Any) -> list[sqlite3.Row]:
        """What a query finds."""
        with self._failing():
            return self._connection.execute(query, values).fetchall()

    def change(self, query: str, *values: Any) -> int:
        """Change rows at once, or as part of `together`. Gives how many."""
        with self._failing():
            return self._connection.execute(query, values).rowcount

    @contextlib.contextmanager
    def together(self, *, lasting: bool = False, over: str = "") -> Generator[None]:
        """Let several reads and changes be one, which no other process sees half of.

        A `lasting` one is on the disk afterwards, with all that came before it: a power cut does
        not undo it. Others outlive the end of the process only. A file has one writer at a time,
        whatever it is `over`.
        """
        del over
        if lasting != self._is_lasting:
            self.change(f"PRAGMA synchronous = {'FULL' if lasting else 'NORMAL'}")
            self._is_lasting = lasting
        self.change("BEGIN IMMEDIATE")
        try:
            yield
            self.change("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            raise

    def hold(self, name: str, /) -> None:
        """Inside `together` nobody else writes, so there is nobody to wait for."""

    def version(self) -> tuple[int, int]:
        """Another value once something has changed: by another process, or through here."""
        [row] = self.rows("PRAGMA data_version")
        return row[0], self._connection.total_changes

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    @contextlib.contextmanager
    def _failing(self) -> Generator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise self._failure(f"{type(error).__name__}: {error}") from error


def schema_version(path: str, *, busy_s: float) -> int:
    """How many steps a file has had. Raises an error of SQLite."""
    with contextlib.closing(sqlite3.connect(path, timeout=busy_s)) as connection:
        return _version(connection)


def _connect(path: str, steps: Sequence[str], busy_s: float) -> sqlite3.Connection:
    make_folder(os.path.dirname(path))
    # Made by us, so that nobody else can read it from the first moment. SQLite gives the files
    # that it puts beside it the same mode.
    make_private_file(path)
    connection = sqlite3.connect(path, timeout=busy_s, isolation_level=None)
    connection.row_factory = sqlite3.Row
    try:
        _write_ahead(connection, busy_s)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA foreign_keys = ON")
        _prepare(connection, steps)
    except BaseException:
        connection.close()
        raise
    return connection


def _write_ahead(connection: sqlite3.Connection, busy_s: float) -> None:
    """Keep changes in a file beside it. Of several that make a file at once, all but one wait.

    For this change alone SQLite itself waits for nobody.
    """
    until = time.monotonic() + busy_s
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            is_busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not is_busy or time.monotonic() > until:
                raise
            time.sleep(_PAUSE_S)
        else:
            return


def _prepare(connection: sqlite3.Connection, steps: Sequence[str]) -> None:
    if _version(connection) == len(steps):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have been faster.
        version = _version(connection)
        if version > len(steps):
            raise sqlite3.DatabaseError(f"the file is of version {version}")
        for step in steps[version:]:
            for statement in step.split(";\n"):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(steps)}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
