"""What is wrong with what lies in the database of a team, and with the way to it."""

from collections.abc import Iterator, Mapping, Sequence

from switchboard.audit.key import AuditKey
from switchboard.audit.postgres.tables import head_of
from switchboard.postgres.agreed_lease import VARIABLE as LEASE_VARIABLE
from switchboard.postgres.database import PostgresDatabase
from switchboard.providers.source import Finding
from switchboard.vault.keys.team_key import TeamKey

# A transaction that stays open holds back readers of the log, and the tidying of tables.
_LONG_S = 600.0
# Enough looks for a pooler to show that it deals out connections.
_LOOKS = 5


def way_findings(sql: PostgresDatabase) -> Iterator[Finding]:
    """What is wrong with the way to the database, or with the one that is at its end."""
    [found] = sql.rows(
        "SELECT pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' AS fixed,"
        " current_setting('server_encoding') AS encoding,"
        " (SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()) AS ssl,"
        " inet_server_addr() IS NULL OR inet_server_addr() <<= '127.0.0.0/8'"
        " OR inet_server_addr() = '::1' AS is_near,"
        " coalesce((SELECT max(extract(epoch FROM now() - xact_start)) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()), 0)::float8 AS longest"
    )
    if found["fixed"]:
        yield _wrong("server", "it can only be read: it follows another one", "name the first one")
    if found["encoding"] != "UTF8":
        yield _wrong(
            "database",
            f"its texts are of {found['encoding']}",
            "CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0",
        )
    if not found["ssl"] and not found["is_near"]:
        yield _better(
            "database",
            "what is said to it over the network is not encrypted",
            "?sslmode=verify-full at the end of the address",
        )
    if found["longest"] > _LONG_S:
        yield _better(
            "server",
            f"a transaction is open for {found['longest'] / 60:.0f} minutes: who follows the audit"
            " log waits for it",
            "SELECT pid, query FROM pg_stat_activity ORDER BY xact_start",
        )
    pids = {row["pid"] for _ in range(_LOOKS) for row in sql.rows("SELECT pg_backend_pid() AS pid")}
    if len(pids) > 1:
        yield _wrong(
            "pooler",
            "a pooler gives each statement another connection",
            "let it pool sessions, or go past it",
        )


def state_findings(
    sql: PostgresDatabase, keys: Sequence[TeamKey], environ: Mapping[str, str], lease_s: float
) -> Iterator[Finding]:
    """What is wrong with what lies in the tables, which are there."""
    yield from _about_keys(sql, keys)
    wanted = environ.get(LEASE_VARIABLE, "")
    agreed = sql.rows("SELECT seconds FROM agreed_lease")
    if wanted and agreed and wanted != f"{agreed[0]['seconds']:g}":
        yield _better(
            "lease",
            f"that of the team is {agreed[0]['seconds']:g} s, and here it is {wanted} s",
            f"leave {LEASE_VARIABLE} out",
        )
    lease_s = agreed[0]["seconds"] if agreed else lease_s
    [found] = sql.rows(
        "SELECT (SELECT count(*) FROM run_queue JOIN runs ON id = run_id WHERE state = 'queued'"
        " AND runs.owner = '' AND since < now() - make_interval(secs => ?)) AS waiting,"
        " (SELECT count(*) FROM members WHERE role = 'worker'"
        " AND beat_at > now() - make_interval(secs => ?)) AS workers,"
        " pg_size_pretty(pg_database_size(current_database())) AS size",
        *(lease_s, lease_s),
    )
    yield Finding(severity="note", subject="database", message=f"it takes {found['size']}")
    if found["waiting"]:
        who = "no worker is there" if not found["workers"] else "no worker takes them"
        yield _better(
            "runs",
            f"{found['waiting']} wait for longer than the lease, and {who}",
            "switchboard worker --queue NAME",
        )


def _about_keys(sql: PostgresDatabase, keys: Sequence[TeamKey]) -> Iterator[Finding]:
    """Whether the secret that is here is that of the team that is there."""
    known = [key.id for key in keys]
    [found] = sql.rows("SELECT count(*) AS n FROM vault_entries WHERE NOT key_id = ANY(?)", known)
    if found["n"]:
        yield _wrong(
            "team key",
            f"it does not open {found['n']} of the secrets in the vault",
            "add the secret that they were closed with, on a line of its own",
        )
    heads = [head_of(row) for row in sql.rows("SELECT seq, hash, signature FROM audit_heads")]
    ours = [AuditKey(key.derived("audit")) for key in keys]
    if heads and not any(head.is_signed_by(key) for head in heads for key in ours):
        yield _wrong(
            "team key",
            "the audit log is of another one",
            "use the secret that the database was written with",
        )


def _wrong(subject: str, message: str, hint: str) -> Finding:
    return Finding(severity="error", subject=subject, message=message, hint=hint)


def _better(subject: str, message: str, hint: str) -> Finding:
    return Finding(severity="warning", subject=subject, message=message, hint=hint)
