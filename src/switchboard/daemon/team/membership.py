"""The state of a team: what its processes share in one database, and who they are.

Loaded by processes of a team alone.
"""

import asyncio
import hmac
import os
from collections.abc import Callable, Mapping, Sequence

from switchboard.approvals.store.postgres import APPROVALS, PostgresApprovals
from switchboard.audit.key import AuditKey
from switchboard.audit.postgres.store import PostgresAudit
from switchboard.audit.postgres.tables import AUDIT
from switchboard.audit.writer import Told
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.ports import Events
from switchboard.oauth.postgres_logins import LOGINS, PostgresLogins
from switchboard.postgres.address import DatabaseAddress
from switchboard.postgres.agreed_lease import AGREED, agreed_lease
from switchboard.postgres.followed import FOLLOWED, FollowedTable
from switchboard.postgres.presence import PRESENCE, Presence
from switchboard.postgres.schema import prepare
from switchboard.postgres.singleton_lease import SINGLETONS, SingletonLease
from switchboard.receipts.postgres_results import RESULTS, PostgresResults
from switchboard.runs.limits import PRIORITY
from switchboard.runs.run import RunSpec
from switchboard.runs.service import RunService
from switchboard.runs.store.postgres import RUNS
from switchboard.runs.team.gateway_runs import GatewayRuns
from switchboard.runs.team.queue_table import QUEUE, QueuePlace
from switchboard.runs.team.team_store import TeamRunStore
from switchboard.settings.sections import Settings
from switchboard.vault.keys.team_key import TeamKey, read_team_keys
from switchboard.vault.postgres_vault import VAULT, PostgresVault
from switchkit.files import NotPrivate, open_private
from switchkit.reaper_client import Reaper

# Everything that a database of a team holds.
PARTS = (
    PRESENCE,
    AGREED,
    APPROVALS,
    AUDIT,
    RUNS,
    QUEUE,
    VAULT,
    LOGINS,
    RESULTS,
    FOLLOWED,
    SINGLETONS,
)
KEY_VARIABLE = "SWITCHBOARD_TEAM_KEY"
KEY_FILE_VARIABLE = "SWITCHBOARD_TEAM_KEY_FILE"
# Without a word to the database for so long, another gateway is the better one.
_SILENT_S = 20.0
_LONGEST_KEY = 16_384


class Team:
    """One process of a team. Its stores connect when they are first used."""

    def __init__(
        self,
        address: DatabaseAddress,
        keys: Sequence[TeamKey],
        *,
        name: str,
        reached_at: str,
        # What it should be for the whole team; empty for what the team has.
        lease: str = "",
    ) -> None:
        """Make the tables that are not there, and be known from now on. Raises a fault.

        It blocks. `name` is that of its chain in the audit log: the same after a new start.
        """
        prepare(address, PARTS)
        self.address = address
        self._keys = tuple(keys)
        self._name = name
        self.lease_s = agreed_lease(address, lease)
        self.presence = self._as_member(reached_at)
        self.presence.join()
        self._known: dict[str, str] = {}
        self._log: PostgresAudit | None = None
        self._logins = PostgresLogins(address)
        self._results = PostgresResults(address)

    def _as_member(self, reached_at: str) -> Presence:
        return Presence(self.address, "gateway", reached_at=reached_at, lease_s=self.lease_s)

    def keep(self, reaper: Reaper) -> None:
        """See to it that what a process of ours starts does not outlive its time."""
        del reaper

    @property
    def executes_runs(self) -> bool:
        """Whether it takes runs that others have started."""
        return False

    def runs(self, settings: Settings, events: Events) -> RunService | GatewayRuns:
        """The runs of the team, for one who closes them."""
        options = settings.runs

        def placed(spec: RunSpec) -> QueuePlace:
            priorities = options.priorities
            return QueuePlace(
                options.queue, priorities.get(spec.agent, priorities.get("default", PRIORITY))
            )

        store = TeamRunStore(self.address, owners=Nobody(self.presence), placed=placed)
        return GatewayRuns(store, events=events)

    def approvals(self) -> PostgresApprovals:
        """The queue of the team, for one who closes it."""
        return PostgresApprovals(self.address, owners=self.presence)

    def audit(self, tell: Callable[[Told], None]) -> PostgresAudit:
        """The log of the team, with the chain of this process, for one who closes it."""
        self._log = PostgresAudit(self.address, self._name, audit_key(self._keys), tell=tell)
        return self._log

    @property
    def audit_waiting(self) -> int:
        """How many records of its log are not written yet."""
        return self._log.waiting if self._log is not None else 0

    def vault(self) -> PostgresVault:
        """The secrets of the team, for one who closes it."""
        return PostgresVault(self.address, self._keys)

    def logins(self) -> PostgresLogins:
        """What is said of logins."""
        return self._logins

    def results(self) -> PostgresResults:
        """What nobody has got."""
        return self._results

    def followed(self) -> FollowedTable:
        """The resources that clients follow at its gateways, for one who closes it."""
        return FollowedTable(self.address, self.presence.id, lease_s=self.lease_s)

    def singletons(self) -> SingletonLease:
        """Who runs servers of which there is one, for one who closes it."""
        return SingletonLease(self.address, self.presence.id, lease_s=self.lease_s)

    @property
    def page_key(self) -> bytes:
        """What seals the cookies of people, for every gateway."""
        return self._keys[0].derived("page")

    @property
    def entrance_key(self) -> bytes:
        """What makes the same of a client on every gateway."""
        return self._keys[0].derived("entrance")

    def close(self) -> None:
        """Be known as gone, and let go of every connection that nobody else closes."""
        self._logins.close()
        self._results.close()
        self.presence.leave()

    # As `surface.http.relay.Gateways`

    @property
    def tag(self) -> str:
        return self.presence.tag

    async def address_of(self, tag: str, /) -> str:
        # A tag stands for one process, which stays where it is.
        if tag not in self._known:
            try:
                found = await asyncio.to_thread(self.presence.address_of, tag)
            except Fault:
                return ""
            if not found:
                return ""
            self._known[tag] = found
        return self._known[tag]

    async def others(self) -> Sequence[str]:
        try:
            return await asyncio.to_thread(self.presence.others)
        except Fault:
            return ()

    def vouch(self, client: str, /) -> str:
        return f"{client} {_signed(self._keys[0], client)}"

    def believe(self, vouched: str, /) -> str | None:
        client, _, signature = vouched.rpartition(" ")
        # As bytes: texts are compared only where every letter is plain.
        shown = signature.encode()
        known = (_signed(key, client).encode() for key in self._keys)
        return client if any(hmac.compare_digest(each, shown) for each in known) else None

    def trouble(self) -> str:
        silent = self.presence.silent_s
        return f"the database was last reached {silent:.0f} s ago" if silent > _SILENT_S else ""


class Nobody:
    """Whom a run belongs to that waits: a gateway executes none."""

    def __init__(self, presence: Presence) -> None:
        self._presence = presence

    def own(self) -> str:
        return ""

    def is_gone(self, owner: str, heard_at: float = 0.0, /) -> bool:
        return self._presence.is_gone(owner, heard_at)


def team_keys(environ: Mapping[str, str]) -> tuple[TeamKey, ...]:
    """The secrets of the team, from a variable or from a private file. Raises a fault."""
    if given := environ.get(KEY_VARIABLE):
        return read_team_keys(given)
    path = environ.get(KEY_FILE_VARIABLE, "")
    if not path:
        raise Fault(
            FaultCode.FAILED_PRECONDITION,
            "team-key-missing",
            "a team has a secret that all of its processes know, and here is none",
            hint=f"openssl rand -base64 32, then set {KEY_VARIABLE} or {KEY_FILE_VARIABLE}",
        )
    try:
        with os.fdopen(open_private(path, os.O_RDONLY, mend=False)) as file:
            return read_team_keys(file.read(_LONGEST_KEY))
    except NotPrivate as error:
        why = error.why
    except (OSError, UnicodeDecodeError) as error:
        why = f"cannot be read ({type(error).__name__})"
    raise Fault(
        FaultCode.FAILED_PRECONDITION,
        "team-key-unreadable",
        f"the file with the secret of the team {why}",
        hint=f"chmod 600 the file that {KEY_FILE_VARIABLE} names",
    )


def audit_key(keys: Sequence[TeamKey]) -> AuditKey:
    """What seals the log of a team: the first secret, and what the others sealed counts."""
    first, *older = (key.derived("audit") for key in keys)
    return AuditKey(first, older)


def _signed(key: TeamKey, client: str) -> str:
    return hmac.digest(key.derived("relay"), client.encode(), "sha256").hex()
