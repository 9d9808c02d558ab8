"""Loads `switchyard.toml`: everything at once, strictly, with the line of every mistake."""

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

from switchkit.suggest import suggestion
from switchyard.config.graph import cycle
from switchyard.config.placeholders import OWN, peer_names, used
from switchyard.config.reader import ConfigProblem, ProblemList, TableReader
from switchyard.config.resources import read_resource
from switchyard.config.services import HIGHEST_PORT, inside, loopback_host, patterns, read_service
from switchyard.config.shapes import (
    Clone,
    Config,
    EnvSync,
    Hooks,
    Logs,
    Ports,
    Proxy,
    Resource,
    Service,
    ServiceProfile,
)
from switchyard.core.fault import USAGE, YardFault
from switchyard.core.slugs import slug, variable

SCHEMA = 1
_AT_LINE = r"\(at line (\d+)"
_LOADED: dict[Path, tuple[tuple[int, int, int], Config | YardFault]] = {}


def config_fault(path: Path, problems: Iterable[ConfigProblem]) -> YardFault:
    """Every problem of the file as one fault."""
    told = [f"{path}:{one.line}: {one.message}" for one in sorted(set(problems))]
    return YardFault(
        "config-invalid",
        "\n".join(told),
        hint=f"edit {path.name}, then run `switchyard doctor`",
        exit_code=USAGE,
        details={"problems": told},
    )


def _paths(table: TableReader, key: str) -> tuple[str, ...]:
    return tuple(one for one in table.texts(key) if inside(table, key, one))


def _env(table: TableReader) -> EnvSync:
    made = EnvSync(
        link=_paths(table, "link"),
        copy=_paths(table, "copy"),
        optional=_paths(table, "optional"),
        worktreeinclude=table.flag("worktreeinclude", default=True),
        inherit=cast("Any", table.choice("inherit", ("caller", "login"), "caller")),
    )
    for one in made.optional:
        if one not in (*made.link, *made.copy):
            table.problem("optional", f"`{one}` is neither in `link` nor in `copy`")
    for one in set(made.link) & set(made.copy):
        table.problem("copy", f"`{one}` is in `link` and in `copy`")
    table.done()
    return made


def _clone(table: TableReader) -> Clone:
    modes = ("auto", "reflink", "hardlink", "copy", "off")
    made = Clone(_paths(table, "paths"), cast("Any", table.choice("mode", modes, "auto")))
    table.done()
    return made


def _proxy(table: TableReader) -> Proxy:
    made = Proxy(
        loopback_host(table),
        table.number("port", 7331, 1, HIGHEST_PORT),
        table.text("tld", "localhost").strip(".").lower() or "localhost",
        table.number("https_port", 7443, 1, HIGHEST_PORT),
    )
    if made.https_port == made.port:
        table.problem("https_port", "`https_port` and `port` are the same")
    table.done()
    return made


def _ports(table: TableReader) -> Ports:
    made = Ports(
        table.number("start", 20000, 1024, HIGHEST_PORT),
        table.number("end", 24999, 1024, HIGHEST_PORT),
        table.flag("sticky", default=True),
    )
    if made.start > made.end:
        table.problem("end", "`end` is before `start`")
    table.done()
    return made


def _checkout(table: TableReader) -> tuple[str, ...]:
    table.choice("mode", ("tcp",), "tcp")
    table.choice("takeover", ("switchyard",), "switchyard")
    families = table.texts("families") or ("v4", "v6")
    for one in families:
        if one not in ("v4", "v6"):
            table.problem("families", f"`{one}` is not an address family; known: `v4`, `v6`")
    table.done()
    return families


def _hooks(table: TableReader) -> Hooks:
    made = Hooks(*(table.commands(name) for name in Hooks._fields))
    table.done()
    return made


def _logs(table: TableReader) -> Logs:
    made = Logs(
        table.size("max_size", 10_000_000),
        table.number("keep", 3, 0, 100),
        patterns(table, "redact"),
    )
    table.done()
    return made


def _profiles(table: TableReader, services: dict[str, Service]) -> dict[str, ServiceProfile]:
    made: dict[str, ServiceProfile] = {}
    for name, below in table.tables():
        profile = ServiceProfile(
            name, below.texts("services"), below.strings("env"), below.texts("skip_depends")
        )
        for key, names in (("services", profile.services), ("skip_depends", profile.skip_depends)):
            for one in names:
                if one not in services:
                    below.problem(key, f"unknown service `{one}`; {suggestion(one, services)}")
        below.done()
        made[name] = profile
    return made


def _collisions(table: TableReader, names: Iterable[str]) -> None:
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(slug(name), name)
        if other != name:
            table.problem(name, f"`{name}` and `{other}` have the same short name `{slug(name)}`")


def _edges(table: TableReader, services: dict[str, Service]) -> None:
    for name, service in services.items():
        for peer, condition in service.depends_on.items():
            key = (*table.path, name, "depends_on")
            if peer not in services:
                table.report.add(key, f"unknown service `{peer}`; {suggestion(peer, services)}")
            elif condition == "completed" and services[peer].kind != "task":
                table.report.add(key, f'`{peer}` is not a task, so it is never "completed"')
    walk = cycle(services)
    if walk:
        told = " -> ".join(f"`{one}`" for one in walk)
        table.report.add(
            (*table.path, walk[0], "depends_on"),
            f"services depend on each other in a cycle: {told}",
        )


def _resource_names(
    table: TableReader, services: dict[str, Service], resources: dict[str, Resource]
) -> None:
    _collisions(table, resources)
    variables: dict[str, str] = {}
    for name, resource in resources.items():
        if name in services:
            table.problem(name, f"`{name}` is a service too; give one of them another name")
        other = variables.setdefault(resource.env, name)
        if other != name:
            table.problem(name, f"`{name}` and `{other}` have the same variable `{resource.env}`")


def _placeholders(
    table: TableReader,
    services: dict[str, Service],
    profiles: dict[str, ServiceProfile],
    resources: dict[str, Resource],
) -> None:
    known = {*OWN, *peer_names(services), *(f"{variable(one)}_url" for one in resources)}
    known |= {key.lower() for profile in profiles.values() for key in profile.env}
    for name, service in services.items():
        places = [
            ("command", " ".join(service.command)),
            ("ready", " ".join(service.ready.command)),
        ]
        places += [(f"env.{key}", text) for key, text in service.env.items()]
        for key, text in places:
            for one in used(text):
                if one not in known:
                    path = (*table.path, name, *key.split(".", 1))
                    told = f"unknown placeholder `{{{one}}}`; {suggestion(one, known)}"
                    table.report.add(path, f"{told} (write `{{{{` for a plain brace)")


def load(path: Path) -> Config:
    """The configuration in this file.

    Raises `YardFault` with every mistake, each as `file:line: what`.
    """
    try:
        status = path.stat()
        stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
        known = _LOADED.get(path)
        if known and known[0] == stamp:
            return _given(known[1])
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise YardFault(
            "config-missing",
            f"there is no `{path.name}` in {path.parent}",
            hint="run `switchyard init`",
            exit_code=USAGE,
        ) from None
    except (OSError, UnicodeDecodeError) as wrong:
        raise config_fault(path, [ConfigProblem(1, "", f"cannot be read: {wrong}")]) from None
    made: Config | YardFault
    try:
        made = _read(path, TableReader(tomllib.loads(text), (), ProblemList(text)))
    except tomllib.TOMLDecodeError as wrong:
        at = re.search(_AT_LINE, str(wrong))
        line = int(at[1]) if at else text.count("\n") + 1
        made = config_fault(path, [ConfigProblem(line, "", f"not TOML: {wrong}")])
    except YardFault as fault:
        made = fault
    _LOADED[path] = stamp, made
    return _given(made)


def _given(made: Config | YardFault) -> Config:
    if isinstance(made, YardFault):
        # Without its traceback, whose frames would pile up and never be freed.
        raise made.with_traceback(None) from None
    return made


def _read(path: Path, top: TableReader) -> Config:
    if top.number("schema", SCHEMA, 1, 1_000_000) > SCHEMA:
        top.problem("schema", f"this switchyard reads schema {SCHEMA}; the file is newer")
    project = top.table("project")
    table = top.table("services")
    services = {name: read_service(name, below) for name, below in table.tables()}
    if not services:
        table.problem("", "there must be at least one service")
    _collisions(table, services)
    _edges(table, services)
    resource_table = top.table("resource")
    resources = {one: read_resource(one, below, services) for one, below in resource_table.tables()}
    _resource_names(resource_table, services, resources)
    profile_table = top.table("profiles")
    profiles = _profiles(profile_table, services)
    _collisions(profile_table, profiles)
    _placeholders(table, services, profiles, resources)
    root = path.parent
    name = project.text("name") or root.name or "project"
    worktree_root = project.maybe_text("worktree_root")
    if worktree_root is not None and worktree_root.strip() in ("", ".", "/"):
        project.problem("worktree_root", "`worktree_root` must name a folder")
    default_profile = project.maybe_text("default_profile")
    if default_profile is not None and default_profile not in profiles:
        project.problem(
            "default_profile",
            f"unknown profile `{default_profile}`; {suggestion(default_profile, profiles)}",
        )
    config = Config(
        root=root,
        path=path,
        name=name,
        slug=slug(name),
        worktree_root=worktree_root,
        base=project.text("base", "HEAD"),
        default_profile=default_profile,
        source=cast("Any", project.choice("config", ("root", "worktree"), "root")),
        env=_env(top.table("env")),
        clone=_clone(top.table("clone")),
        proxy=_proxy(top.table("proxy")),
        ports=_ports(top.table("ports")),
        families=_checkout(top.table("checkout")),
        services=services,
        profiles=profiles,
        hooks=_hooks(top.table("hooks")),
        logs=_logs(top.table("logs")),
        resources=resources,
    )
    project.done()
    top.done()
    if top.report.problems:
        raise config_fault(path, top.report.problems)
    return config
