"""What is wrong with the database of a team. Changes nothing."""

from collections.abc import Generator, Iterator, Mapping

from switchboard.core.faults import Fault, FaultCode
from switchboard.daemon.team.check_state import state_findings, way_findings
from switchboard.daemon.team.membership import PARTS, team_keys
from switchboard.postgres.address import read_address
from switchboard.postgres.database import (
    NO_TABLES,
    Part,
    PostgresDatabase,
    TableStanding,
    standing_in,
)
from switchboard.postgres.presence import LEASE_S
from switchboard.providers.source import Finding
from switchboard.surface.http.token import VARIABLE as TOKEN
from switchboard.vault.keys.team_key import TeamKey

_OLDEST = 130000
# Each gateway holds a handful; the last few are for whoever looks after it.
_FEWEST_FREE = 10


def team_findings(
    database: str, environ: Mapping[str, str], *, needs_token: bool = True
) -> Iterator[Finding]:
    """Everything that keeps a gateway from starting, or will hurt it.

    Where people have tokens of their own, there need not be one for all.
    """
    keys: tuple[TeamKey, ...] = ()
    try:
        keys = team_keys(environ)
    except Fault as fault:
        yield _wrong("team key", fault.message, fault.hint)
    if not environ.get(TOKEN) and needs_token:
        yield _wrong("token", f"{TOKEN} is not set: gateways share it", f"set {TOKEN}")
    try:
        address = read_address(database)
        sql = PostgresDatabase(address, NO_TABLES, failure=_unreachable)
    except Fault as fault:
        why = f": {fault.private}" if fault.private else ""
        yield _wrong("database", f"{fault.message}{why}", fault.hint)
        return
    try:
        yield Finding(severity="note", subject="database", message=str(address))
        yield from _about_server(sql)
        yield from way_findings(sql)
        are_there = yield from _about_tables(sql)
        if are_there and keys:
            yield from state_findings(sql, keys, environ, LEASE_S)
    except Fault as fault:
        yield _wrong("database", f"{fault.message}: {fault.private}", fault.hint)
    finally:
        sql.close()


def _about_server(sql: PostgresDatabase) -> Iterator[Finding]:
    [found] = sql.rows(
        "SELECT current_setting('server_version') AS version,"
        " current_setting('server_version_num')::int AS number,"
        " current_setting('fsync') AS fsync, current_setting('full_page_writes') AS pages,"
        " current_setting('max_connections')::int"
        " - (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS free"
    )
    yield Finding(severity="note", subject="server", message=f"PostgreSQL {found['version']}")
    if found["number"] < _OLDEST:
        yield _wrong("server", "it is older than PostgreSQL 13", "use a newer one")
    for name, value in (("fsync", found["fsync"]), ("full_page_writes", found["pages"])):
        if value != "on":
            yield Finding(
                severity="warning",
                subject="server",
                message=f"`{name}` is {value}: a power cut may lose what was told to be kept",
                hint=f"{name} = on in postgresql.conf",
            )
    if found["free"] < _FEWEST_FREE:
        yield Finding(
            severity="warning",
            subject="server",
            message=f"only {found['free']} connections are free",
            hint="max_connections in postgresql.conf",
        )


def _about_tables(sql: PostgresDatabase) -> Generator[Finding, None, bool]:
    """Whether they are all there and can be used, too."""
    [row] = sql.rows("SELECT to_regclass('switchboard.versions') IS NOT NULL AS there")
    if not row["there"]:
        [may] = sql.rows("SELECT has_database_privilege(current_database(), 'CREATE') AS may")
        if may["may"]:
            message = "there are none yet; the first gateway makes them"
            yield Finding(severity="note", subject="tables", message=message)
        else:
            yield _wrong(
                "tables",
                "there are none yet, and this user may not make any",
                "GRANT CREATE ON DATABASE … TO …",
            )
        return False
    there = {row["part"]: standing_in(row) for row in sql.rows("SELECT * FROM versions")}
    for part in PARTS:
        standing = there.get(part.name, TableStanding())
        if standing.version and not standing.suits(part):
            yield _about_version(part, standing)
    yield from _about_members(sql)
    return all(there.get(part.name, TableStanding()).suits(part) for part in PARTS)


def _about_version(part: Part, standing: TableStanding) -> Finding:
    if standing.lacks_additions(part):
        return Finding(
            severity="note",
            subject="tables",
            message=f"{part.name} lacks what was added since; the next gateway adds it",
            hint="switchboard state upgrade",
        )
    is_newer = standing.version > part.version
    return _wrong(
        "tables",
        f"{part.name} is of version {standing.version}, and this Switchboard knows {part.version}",
        "use the version of Switchboard that the others have"
        if is_newer
        else "stop every process of the team, then switchboard state upgrade",
    )


def _about_members(sql: PostgresDatabase) -> Iterator[Finding]:
    alive = sql.rows(
        "SELECT *, extract(epoch FROM now() - beat_at)::int AS ago FROM members"
        " WHERE beat_at > now() - make_interval(secs => ?) ORDER BY host, id",
        LEASE_S,
    )
    for row in alive:
        # One of before says neither.
        version, leaving = row.get("version"), row.get("leaving")
        message = f"{row['host']}, heard of {row['ago']} s ago"
        message += f", version {version}" if version else ""
        message += ", about to stop" if leaving else ""
        yield Finding(severity="note", subject=row["role"], message=message)


def _wrong(subject: str, message: str, hint: str) -> Finding:
    return Finding(severity="error", subject=subject, message=message, hint=hint)


def _unreachable(why: str) -> Fault:
    return Fault(
        FaultCode.UNAVAILABLE,
        "database-unusable",
        "the database cannot be used",
        hint="look at its address, its rights and its log",
        private=why.strip(),
    )
