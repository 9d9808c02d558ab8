"""What children reached and what they were refused, as long as we live. Bounded."""

import time
from collections.abc import Iterator

from msgspec.structs import replace

from switchboard.core.network.egress import EgressOutcome, EgressRow

_MOST_ROWS = 200
_MOST_SERVERS = 100
_Key = tuple[str, int, EgressOutcome, str]


class EgressRecord:
    """Rows by server: one for each host, port and outcome. Those that are used least go first."""

    def __init__(self) -> None:
        self._servers: dict[str, dict[_Key, EgressRow]] = {}

    def note(
        self,
        server: str,
        host: str,
        port: int,
        outcome: EgressOutcome,
        *,
        why: str = "",
        address: str = "",
        times: int = 1,
        bytes_up: int = 0,
        bytes_down: int = 0,
    ) -> None:
        """Something happened."""
        rows = self._servers.pop(server, {})
        self._servers[server] = rows
        key = (host, port, outcome, why)
        row = rows.pop(key, None) or EgressRow(
            server=server, host=host, port=port, outcome=outcome, why=why
        )
        rows[key] = replace(
            row,
            address=address or row.address,
            times=row.times + times,
            bytes_up=row.bytes_up + bytes_up,
            bytes_down=row.bytes_down + bytes_down,
            last_at=time.time(),
        )
        # Names that a child invents must not push out what it reached.
        if len(rows) > _MOST_ROWS:
            refused = (each for each, row in rows.items() if row.outcome != "reached")
            del rows[next(refused, next(iter(rows)))]
        if len(self._servers) > _MOST_SERVERS:
            del self._servers[next(iter(self._servers))]

    def rows(self, server: str = "") -> Iterator[EgressRow]:
        """Those of one server, or of all, the latest last."""
        for name, rows in self._servers.items():
            if server in ("", name):
                yield from rows.values()
