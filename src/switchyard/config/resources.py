"""Reads one `[resource.X]` table: what each branch has of its own besides its services."""

import re
from typing import Any, cast

from switchkit.suggest import suggestion
from switchyard.config.reader import TableReader
from switchyard.config.services import inside
from switchyard.config.shapes import Resource, Service

KINDS = ("postgres", "mysql", "redis", "sqlite", "compose", "command")
_VARIABLES = {"redis": "REDIS_URL"}
_SERVERS = {
    "postgres": "postgres://127.0.0.1:5432",
    "mysql": "mysql://root@127.0.0.1:3306",
    "redis": "redis://127.0.0.1:6379",
}
# Which sources a kind can be made from.
_SOURCES = {
    "postgres": ("template", "file"),
    "mysql": ("template", "file"),
    "sqlite": ("file",),
    "command": ("template", "file"),
}
_TEMPLATE = r"[A-Za-z0-9_.-]+"


def _source(table: TableReader, kind: str) -> str:
    source = table.text("from")
    if not source:
        return ""
    how, _, what = source.partition(":")
    known = _SOURCES.get(kind, ())
    if how not in known or not what:
        forms = " or ".join(f"`{one}:…`" for one in known)
        table.problem("from", f"a `{kind}` is made from {forms}" if forms else "nothing is copied")
    elif how == "template" and not re.fullmatch(_TEMPLATE, what):
        table.problem("from", f"`{what}` is not the name of a template")
    elif how == "file":
        inside(table, "from", what)
    return source


def read_resource(name: str, table: TableReader, services: dict[str, Service]) -> Resource:
    """One resource, with every mistake noted."""
    kind = table.choice("kind", KINDS, "command")
    if "kind" not in table:
        table.problem("", f"`kind` is missing; one of {', '.join(KINDS)}")
    env = table.text("env", _VARIABLES.get(kind, "DATABASE_URL"))
    if not re.fullmatch(r"[A-Za-z_]\w*", env):
        table.problem("env", f"`{env}` is not a valid name for an environment variable")
    has_server = kind in _SERVERS
    server = table.text("server", _SERVERS[kind]) if has_server else ""
    made = Resource(
        name,
        cast("Any", kind),
        env,
        server=server,
        source=_source(table, kind),
        file=table.text("file", "compose.yaml") if kind == "compose" else "",
        publish=table.text("publish") if kind == "compose" else "",
        url=table.text("url") if kind in ("compose", "command") else "",
        create=table.command("create") if kind == "command" else (),
        drop=table.command("drop") if kind == "command" else (),
    )
    if made.service is not None and made.service not in services:
        told = f"unknown service `{made.service}`; {suggestion(made.service, services)}"
        table.problem("server", told)
    if kind == "compose":
        inside(table, "file", made.file)
        if not re.fullmatch(r"[\w.-]+:\d{1,5}", made.publish):
            table.problem("publish", '`publish` names what to reach, such as "db:5432"')
        if "{port}" not in made.url:
            table.problem("url", "`url` is the address with `{host}` and `{port}` in it")
    table.done()
    return made
