"""A PostgreSQL database of each branch, by way of `psql`. Its comment is the mark."""

# ruff: noqa: S608 - the names in these statements are made by us, of letters and digits

from switchyard.resources.site import ResourceSite, with_path
from switchyard.runtime.resource_records import ResourceRecord

_ADMIN = "postgres"


def _ask(site: ResourceSite, sql: str, database: str = _ADMIN) -> str:
    address = with_path(site.server, database)
    words = ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", address, "-c", sql]
    return site.output(words, {"PGCONNECT_TIMEOUT": "10"}).strip()


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def found_mark(site: ResourceSite) -> str | None:
    """The mark of the database; empty when it has none, nothing when there is no database."""
    sql = (
        "select coalesce(shobj_description(oid, 'pg_database'), '-') from pg_database "
        f"where datname = {_literal(site.name)}"
    )
    return _ask(site, sql) or None


def make(site: ResourceSite) -> ResourceRecord:
    """Make the database, from a template or a file if it has one."""
    template = site.source("template")
    like = f' template "{template}"' if template else ""
    _ask(site, f'create database "{site.name}"{like}')
    try:
        _ask(site, f'comment on database "{site.name}" is {_literal(site.mark)}')
        address = with_path(site.server, site.name)
        file = site.source("file")
        if file:
            path = str(site.config.root / file)
            site.output(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", address, "-f", path])
    except BaseException:
        _ask(site, f'drop database "{site.name}"')
        raise
    return site.record(address)


def users(site: ResourceSite) -> int:
    """How many connections to it are open."""
    sql = f"select count(*) from pg_stat_activity where datname = {_literal(site.name)}"
    return int(_ask(site, sql) or 0)


def drop(site: ResourceSite) -> None:
    """Drop it; the server refuses while somebody is connected."""
    _ask(site, f'drop database "{site.name}"')
