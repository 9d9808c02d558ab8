"""What commands ask of a team, over its database. Loaded by those that have one."""

import asyncio
import hashlib
import socket
from collections.abc import Mapping

from switchboard.approvals.store.postgres import PostgresApprovals
from switchboard.audit.postgres.counted_log import TeamCountedLog
from switchboard.audit.postgres.store import PostgresAudit
from switchboard.audit.usage.count import UsageCount
from switchboard.control.call_desk import CallList
from switchboard.control.past_calls import with_past
from switchboard.control.requests import CallsRequest
from switchboard.core.audit import AuditRecord, AuditRow
from switchboard.core.bus import EventBus
from switchboard.daemon.team.membership import Nobody, audit_key, team_keys
from switchboard.postgres.address import read_address
from switchboard.postgres.presence import Presence
from switchboard.runs.team.gateway_runs import GatewayRuns
from switchboard.runs.team.team_store import TeamRunStore
from switchboard.vault.postgres_vault import PostgresVault


class TeamApprovals(PostgresApprovals):
    """The queue of a team for a command, which asks nothing itself."""

    def __init__(self, database: str) -> None:
        """Raises a fault when that is no address."""
        address = read_address(database)
        # It never joins: it only knows who of the others is gone.
        self._presence = Presence(address, "command")
        super().__init__(address, owners=self._presence)

    def _close(self) -> None:
        super()._close()
        self._presence.leave()


class TeamRuns(GatewayRuns):
    """The runs of a team for a command, which executes none."""

    def __init__(self, database: str) -> None:
        """Raises a fault when that is no address."""
        address = read_address(database)
        # As above.
        self._presence = Presence(address, "command")
        super().__init__(TeamRunStore(address, owners=Nobody(self._presence)), events=EventBus())

    async def aclose(self) -> None:
        try:
            await super().aclose()
        finally:
            self._presence.leave()


def team_vault(database: str, environ: Mapping[str, str]) -> PostgresVault:
    """The secrets of a team for a command. Raises a fault."""
    return PostgresVault(read_address(database), team_keys(environ))


def team_audit(database: str, environ: Mapping[str, str]) -> PostgresAudit:
    """The log of a team for a command, in a chain of its machine. Raises a fault."""
    key = audit_key(team_keys(environ))
    return PostgresAudit(read_address(database), f"{socket.gethostname()}/commands", key)


def team_usage(database: str, home: str) -> UsageCount:
    """How often tools are called on all gateways; what was counted is kept in the home."""
    address = read_address(database)
    name = hashlib.sha256(address.url.encode()).hexdigest()[:16]
    return UsageCount(home, TeamCountedLog(address), name=name)


async def team_calls(database: str, environ: Mapping[str, str], wanted: CallsRequest) -> CallList:
    """The calls on all gateways, as their log tells of them. Raises a fault."""
    log = team_audit(database, environ)
    presence = Presence(read_address(database), "command")
    try:
        alive = await asyncio.to_thread(presence.gateways_since)

        def goes_on(row: AuditRow, record: AuditRecord, began_at: float) -> bool:
            del record
            since = alive.get(log.chain_of(row.seq))
            return since is not None and since <= began_at

        return await with_past(CallList(calls=()), log, wanted, goes_on)
    finally:
        await log.aclose()
        presence.leave()


def rekey_team(database: str, environ: Mapping[str, str]) -> int:
    """Close every value of the vault of a team with its first secret; gives how many were not.

    Raises a fault, also where a value is closed with a secret that is not known here.
    """
    vault = PostgresVault(read_address(database), team_keys(environ))
    try:
        return vault.close_with_first_key()
    finally:
        vault.close()
