"""A connection to PostgreSQL that comes back after it was lost, with the words of `core.sql`."""

import contextlib
import math
import select
import time
from collections.abc import Callable, Generator, Sequence
from functools import lru_cache
from typing import Any, LiteralString, cast

import psycopg
from msgspec import Struct
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row

from switchboard.postgres.address import DatabaseAddress

SCHEMA = "switchboard"
# A statement of ours is done in milliseconds: whatever takes this long hangs.
_STATEMENT_S = 10
_CONNECT_S = 5
# Clocks are adjusted by so much all the time.
_SKEW_S = 5.0
# A host that is gone says nothing: the kernel finds out within these seconds.
_SILENCE = {
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": _STATEMENT_S * 1000,
}
_SETTINGS = {
    "search_path": SCHEMA,
    "statement_timeout": f"{_STATEMENT_S}s",
    # A gateway that was stopped in the middle must not hold up the others.
    "idle_in_transaction_session_timeout": f"{_STATEMENT_S}s",
    "client_min_messages": "warning",
    # Whatever somebody has set for the database: what was told to be kept is kept.
    "synchronous_commit": "on",
}
_GREETING = "SELECT extract(epoch FROM clock_timestamp()) AS now" + (  # noqa: S608 - all bound
    ", set_config(%s, %s, false)" * len(_SETTINGS)
)
Connection = psycopg.Connection[dict[str, Any]]


class Addition(Struct, frozen=True):
    """A step that programs which do not know it can live with: it adds, and takes nothing away."""

    sql: str


class Part(Struct, frozen=True):
    """Tables that grow together, by the steps that made them what they are.

    A step that is plain text begins another version of them, which older programs do not accept.
    """

    name: str
    steps: tuple[str | Addition, ...]

    @property
    def version(self) -> int:
        """The version that the last of its steps belongs to."""
        return sum(isinstance(step, str) for step in self.steps)


# For whoever asks of no tables in particular.
NO_TABLES = Part("none", ())


class TableStanding(Struct, frozen=True):
    """What was done to the tables of a part: 0 and 0 where there are none."""

    version: int = 0
    steps: int = 0

    def suits(self, part: Part) -> bool:
        """Whether a program that knows the part so far can use them."""
        return self.version == part.version and self.steps >= len(part.steps)

    def lacks_additions(self, part: Part) -> bool:
        """Whether additions alone would make them suit."""
        return self.version == part.version and self.steps < len(part.steps)


class Mismatch(Exception):
    """This program does not go with the database: with its tables, or with its clock."""


class PostgresDatabase:
    """One connection for the tables of one part. Belongs to the thread that uses it.

    Whatever goes wrong is raised as `failure` makes it of words. After that, or once the server
    has gone away, the next statement connects anew; a statement is never sent twice.
    """

    def __init__(
        self, address: DatabaseAddress, part: Part, *, failure: Callable[[str], Exception]
    ) -> None:
        """Connect. Raises a failure, also when the tables are older or newer than `part`."""
        self._address = address
        self._part = part
        self._failure = failure
        self._connection: Connection | None = None
        self._depth = 0
        with self._failing():
            self._connected()

    def rows(self, query: str, /, *values: Any) -> Sequence[dict[str, Any]]:
        """What a query finds."""
        with self._failing():
            return self._connected().execute(_spelled(query), values).fetchall()

    def change(self, query: str, /, *values: Any) -> int:
        """Change rows at once, or as part of `together`. Gives how many."""
        with self._failing():
            return self._connected().execute(_spelled(query), values).rowcount

    @contextlib.contextmanager
    def together(self, *, lasting: bool = False, over: str = "") -> Generator[None]:
        """As `core.sql.Sql.together`, one after the other over every machine."""
        del lasting  # every commit is
        with self.transaction():
            self.hold(over)
            yield

    def hold(self, name: str, /) -> None:
        """As `core.sql.Sql.hold`; without a name it is everything of this part."""
        # Of two names with one number both wait, which is slower and not wrong.
        self.rows(
            "SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", f"{self._part.name}\n{name}"
        )

    @contextlib.contextmanager
    def transaction(self) -> Generator[None]:
        """Let several statements be one, beside those of others."""
        self.change("BEGIN")
        self._depth += 1
        try:
            yield
            self.change("COMMIT")
        except BaseException:
            # What was lost with its connection is undone by the server.
            with contextlib.suppress(psycopg.Error):
                if self._connection is not None:
                    self._connection.execute("ROLLBACK")
            raise
        finally:
            self._depth -= 1

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connected(self) -> Connection:
        found = self._connection
        if found is not None and not found.closed and not (self._depth == 0 and _has_ended(found)):
            return found
        if self._depth:
            raise psycopg.OperationalError("the connection was lost")
        self.close()
        connection = connect(self._address)
        try:
            check_version(connection, self._part)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return connection

    @contextlib.contextmanager
    def _failing(self) -> Generator[None]:
        try:
            yield
        # A text that is none, or has a zero in it, is refused before it is sent.
        except (OSError, psycopg.Error, UnicodeError, Mismatch) as error:
            words = self._address.without_secret(f"{type(error).__name__}: {error}")
            raise self._failure(words) from None


def connect(address: DatabaseAddress) -> Connection:
    """A connection, each statement of which stands for itself. Raises an error of psycopg."""
    more = {"connect_timeout": _CONNECT_S, "application_name": "switchboard", **_SILENCE}
    connection = Connection.connect(
        make_conninfo(address.url, **more), autocommit=True, row_factory=dict_row
    )
    try:
        asked = time.time()
        [found] = connection.execute(
            _GREETING, [word for pair in _SETTINGS.items() for word in pair]
        ).fetchall()
        _check_clock(float(found["now"]), asked, time.time())
    except BaseException:
        connection.close()
        raise
    return connection


def standings(connection: Connection) -> dict[str, TableStanding]:
    """What was done to which part, by its name."""
    try:
        # Whoever made the table may not have known `steps`: every step was a version then.
        rows = connection.execute("SELECT * FROM versions").fetchall()
    except psycopg.errors.UndefinedTable:
        return {}
    return {row["part"]: standing_in(row) for row in rows}


def standing_in(row: dict[str, Any]) -> TableStanding:
    """What a row of the table of versions says."""
    return TableStanding(row["version"], row.get("steps") or row["version"])


def check_version(connection: Connection, part: Part) -> None:
    """Raise `Mismatch` unless this program can use the tables as they are."""
    if not part.steps:
        # Who wants no tables looks at all of them.
        return
    standing = standings(connection).get(part.name, TableStanding())
    if not standing.suits(part):
        raise Mismatch(version_words(part, standing))


def version_words(part: Part, found: TableStanding) -> str:
    """What is wrong with tables of another version, and what helps."""
    known = part.version
    if found.version > known:
        return (
            f"the tables of {part.name} are of version {found.version}, and this Switchboard knows"
            f" {known}: use the version of Switchboard that the others have"
        )
    if found.lacks_additions(part):
        return (
            f"the tables of {part.name} lack what was added to version {known} since:"
            " start a gateway, or `switchboard state upgrade`"
        )
    return (
        f"the tables of {part.name} are of version {found.version}, and this Switchboard needs"
        f" {known}: stop every process of the team, then `switchboard state upgrade`"
    )


def _check_clock(theirs: float, asked: float, answered: float) -> None:
    """Questions and leases end by the clock, so all have to agree on what time it is."""
    off = max(asked - theirs, theirs - answered, 0.0)
    if off > _SKEW_S or math.isnan(off):
        raise Mismatch(f"the clock of this machine is {off:.0f} s off that of the database")


def _has_ended(connection: Connection) -> bool:
    """Whether the server went away while nobody asked it for anything.

    All that it says unasked is goodbye, or that somebody changed its settings.
    """
    try:
        asked = select.poll()
        asked.register(connection.fileno(), select.POLLIN)
        return bool(asked.poll(0))
    except (OSError, psycopg.Error):
        return True


@lru_cache(256)
def _spelled(query: str) -> LiteralString:
    # All of them are constants of ours.
    return cast("LiteralString", query.replace("%", "%%").replace("?", "%s"))
