"""Measure what one call of a team costs its gateway and its database; see docs/scale.md.

    .venv/bin/python bench/team.py [--seconds 10]

One gateway on a PostgreSQL of its own, as installed (with fsync), 64 calls in flight that nobody
is asked about; both kept on loopback. `bench/http_road.py --team` compares it with the same
gateway on SQLite, and `--sessions 2000 --team` holds sessions open. What it prints is what
`bench/fleet.py` reckons with. It fails no build.
"""

import argparse
import contextlib
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
from gauge.footprint import computed
from gauge.http_calls import MODERN, HttpCalls
from gauge.local_postgres import local_postgres
from gauge.row import CHECKOUT
from http_road import IN_FLIGHT, TOKEN, gateway

_COUNTS = (
    "SELECT (SELECT count(*) FROM switchboard.audit_records),"
    " pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0'),"
    " pg_total_relation_size('switchboard.audit_records'),"
    " (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') - 1"
)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    with (
        TemporaryDirectory(prefix="team-") as folder,
        contextlib.ExitStack() as stack,
        local_postgres() as database,
    ):
        port, process = stack.enter_context(gateway(Path(folder) / "one", CHECKOUT, database))
        calls = HttpCalls(port, TOKEN, MODERN, stack)
        calls.warm(300)
        with psycopg.connect(database, autocommit=True) as connection:

            def counted() -> tuple[float, ...]:
                found = connection.execute(_COUNTS).fetchone()
                assert found is not None
                return tuple(map(float, found))

            before, used = counted(), (computed(process.pid), _postgres_s())
            done, spent = calls.many(IN_FLIGHT, options.seconds)
            after, then = counted(), (computed(process.pid), _postgres_s())
        records = after[0] - before[0]
        print(
            f"{done / spent:.0f} calls and {records / spent:.0f} records a second; of a call:"
            f" gateway {(then[0] - used[0]) / done * 1e6:.0f} µs,"
            f" database {(then[1] - used[1]) / done * 1e6:.0f} µs,"
            f" {records / done:.2f} records, {(after[1] - before[1]) / done:.0f} bytes of log,"
            f" {(after[2] - before[2]) / done:.0f} bytes kept; {after[3]:.0f} connections;"
            f" load {os.getloadavg()[0]:.1f}"
        )
    return 0


def _postgres_s() -> float:
    """Processor seconds of every process of PostgreSQL that is ours to see."""
    pids = (int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit())
    return sum(computed(pid) for pid in pids if _is_ours(pid))


def _is_ours(pid: int) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
        parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return False
    if b"bench-postgres-" in words and b"postgres" in words:
        return True
    try:
        return (
            words.startswith(b"postgres:")
            and b"bench-postgres-" in Path(f"/proc/{parent}/cmdline").read_bytes()
        )
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main())
