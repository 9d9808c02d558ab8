"""A MySQL or MariaDB database of each branch, by way of its client. A table in it is the mark."""

# ruff: noqa: S608 - the names in these statements are made by us, of letters and digits

from pathlib import Path
from urllib.parse import unquote, urlsplit

from switchkit.files import make_private_folder
from switchyard.resources.site import ResourceSite, with_path
from switchyard.runtime.resource_records import ResourceRecord

_MARK = "switchyard_mark"
# MariaDB calls its programs by its own name, and is about to leave the old ones out.
_CLIENTS = {"mysql": "mariadb", "mysqldump": "mariadb-dump"}


def _words(site: ResourceSite, program: str) -> tuple[list[str], dict[str, str]]:
    """The program with the server's address; the password in a variable, not in its words."""
    parts = urlsplit(site.server)
    if not site.has_program(program) and site.has_program(_CLIENTS[program]):
        program = _CLIENTS[program]
    words = [program, "-h", parts.hostname or "127.0.0.1", "-P", str(parts.port or 3306)]
    words += ["--protocol=tcp"]
    if parts.username:
        words += ["-u", unquote(parts.username)]
    return words, {"MYSQL_PWD": unquote(parts.password)} if parts.password else {}


def _ask(site: ResourceSite, sql: str) -> str:
    words, env = _words(site, "mysql")
    return site.output([*words, "-N", "-B", "-e", sql], env).strip()


def found_mark(site: ResourceSite) -> str | None:
    """The mark of the database; `-` when it has none, nothing when there is no database."""
    schema = "information_schema"
    if not _ask(
        site, f"select schema_name from {schema}.schemata where schema_name = '{site.name}'"
    ):
        return None
    where = f"table_schema = '{site.name}' and table_name = '{_MARK}'"
    if not _ask(site, f"select table_name from {schema}.tables where {where}"):
        return "-"
    return _ask(site, f"select owner from `{site.name}`.{_MARK}") or "-"


def make(site: ResourceSite) -> ResourceRecord:
    """Make the database, and copy the template into it."""
    _ask(site, f"create database `{site.name}`")
    try:
        _ask(
            site,
            f"create table `{site.name}`.{_MARK} (owner varchar(200)); "
            f"insert into `{site.name}`.{_MARK} values ('{site.mark}')",
        )
        _fill(site)
    except BaseException:
        _ask(site, f"drop database `{site.name}`")
        raise
    return site.record(with_path(site.server, site.name))


def _fill(site: ResourceSite) -> None:
    template, file = site.source("template"), site.source("file")
    if template:
        make_private_folder(site.data)
        copy = site.data / "template.sql"
        words, env = _words(site, "mysqldump")
        # The template may be a database that was made here, with the mark of another branch.
        without = f"--ignore-table={template}.{_MARK}"
        with_all = ["--routines", "--events", "--single-transaction", "--no-tablespaces", without]
        site.output([*words, *with_all, f"--result-file={copy}", template], env)
        try:
            _read_in(site, copy)
        finally:
            copy.unlink(missing_ok=True)
    elif file:
        _read_in(site, site.config.root / file)


def _read_in(site: ResourceSite, file: Path) -> None:
    words, env = _words(site, "mysql")
    # The shell opens the file, and reads none of the words.
    shell = ["sh", "-c", 'f=$1; shift; exec "$@" < "$f"', "-", str(file)]
    site.output([*shell, *words, site.name], env)


def users(site: ResourceSite) -> int:
    """How many connections to it are open."""
    told = _ask(
        site, f"select count(*) from information_schema.processlist where db = '{site.name}'"
    )
    return int(told or 0)


def drop(site: ResourceSite) -> None:
    """Drop it."""
    _ask(site, f"drop database `{site.name}`")
