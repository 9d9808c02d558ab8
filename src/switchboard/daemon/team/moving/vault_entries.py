"""The secrets of a home and of a team, from one vault into the other.

Each is opened with the key of its vault and closed with that of the other, in memory alone.
"""

from collections.abc import Mapping

from switchboard.core.sql import Sql
from switchboard.daemon.team.moving.moved import MovedKind, differs, unverified
from switchboard.vault.file_vault import FileVault
from switchboard.vault.plain_entry import PlainEntry
from switchboard.vault.team_entries import TeamEntries

Secrets = Mapping[str, PlainEntry]
# As `oauth.postgres_logins` tells of logins.
_LOGINS = "switchboard_logins"


def write_to_team(sql: Sql, entries: TeamEntries, wanted: Secrets) -> MovedKind:
    """Let the vault of a team hold exactly these; inside `together`. Raises a fault."""
    there = entries.contents(sql)
    if other := _others(there, wanted):
        raise differs("secrets", other, at_home=False)
    missing = [reference for reference in wanted if reference not in there]
    for reference in missing:
        entries.write(sql, reference, wanted[reference])
    if missing:
        sql.rows("SELECT pg_notify(?, '')", _LOGINS)
    if entries.contents(sql) != dict(wanted):
        raise unverified("secrets")
    return MovedKind(kind="secrets", count=len(wanted), added=len(missing))


def check_home(vault: FileVault, wanted: Secrets, *, replace: bool) -> None:
    """Raise a fault where the vault of a home has something else, unless that is to go."""
    other = _others(vault.contents(), wanted)
    if other and not replace:
        raise differs("secrets", other, at_home=True)


def write_to_home(vault: FileVault, wanted: Secrets, *, dry_run: bool) -> MovedKind:
    """Let the vault of a home hold exactly these. Raises a fault."""
    there = vault.contents()
    other = _others(there, wanted)
    missing = {name: entry for name, entry in wanted.items() if there.get(name) != entry}
    if not dry_run:
        vault.take_in(missing, other)
        if vault.contents() != dict(wanted):
            raise unverified("secrets")
    return MovedKind(kind="secrets", count=len(wanted), added=len(missing), replaced=len(other))


def _others(there: Secrets, wanted: Secrets) -> list[str]:
    return [reference for reference, entry in there.items() if wanted.get(reference) != entry]
