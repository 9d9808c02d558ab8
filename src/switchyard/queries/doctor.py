"""The doctor: the setup of a project, and what is wrong with it. Reads only."""

import os
import sys
from typing import Any

from switchkit.platform.ports import hint_names
from switchyard import __version__
from switchyard.config.shapes import Config
from switchyard.control.client import Ping
from switchyard.core.environ import caller, on_path
from switchyard.core.fault import YardFault
from switchyard.core.slugs import slug
from switchyard.project.configuration import config_of
from switchyard.project.git_files import current_branch, main_checkout
from switchyard.project.home import disk_fault
from switchyard.project.scope import FILE_NAME, ProjectScope, Target
from switchyard.queries.brief import env_warnings
from switchyard.runtime.resolving import names_resolve


def doctor(scope: ProjectScope) -> dict[str, Any]:
    """Project setup, proxy, services, version and what is wrong."""
    config = config_of(scope)
    places = scope.places
    # It takes longer to answer than all the rest, which is looked at meanwhile.
    supervised = places.is_supervised()
    ping = Ping(places) if supervised else None
    problems: list[str] = []
    if wrong := disk_fault(scope.home):
        problems.append(f"{wrong.message}: {wrong.hint}")
    if scope.registry.read().rebuilt:
        problems.append("the registry was damaged; it is rebuilt at the next change")
    for one in scope.targets():
        if not one.worktree.is_dir():
            problems.append(f"the worktree of `{one.branch}` is gone: {one.worktree}")
        elif (head := current_branch(one.worktree)) != one.branch:
            problems.append(f"the worktree of `{one.branch}` has `{head}` checked out")
        elif _drifts(scope, one):
            problems.append(f"`{FILE_NAME}` of `{one.branch}` differs from the root's")
    parent = main_checkout(scope.root)
    if parent and parent != scope.root and (parent / FILE_NAME).is_file():
        problems.append(f"this is an unregistered worktree; run `switchyard adopt` in {parent}")
    if on_path("git", caller().get("PATH", os.defpath)) is None:
        problems.append("`git` is not installed")
    notes, missing = _notes(scope, config), env_warnings(scope, config.env)
    if ping:
        problems += _of_supervisor(scope, ping)
    return {
        "healthy": not problems,
        "version": __version__,
        "python": sys.version.split()[0],
        "project": config.name,
        "root": str(scope.root),
        "config_path": str(config.path),
        "home": str(scope.home.path),
        "state_path": str(scope.home.state),
        "supervised": supervised,
        "notes": notes,
        "proxy": {
            **config.proxy._asdict(),
            "project": config.slug,
            "names_resolve": names_resolve(config.proxy.tld),
            "url": f"http://{config.proxy.tld}:{config.proxy.port}",
        },
        "ports": config.ports._asdict(),
        "services": [
            {
                "service": one.name,
                "kind": one.kind,
                "canonical_port": one.canonical_port,
                "protocol": one.protocol if one.has_port else None,
                "depends_on": dict(one.depends_on),
                "ready": one.ready.kind,
                "restart": one.restart.policy,
            }
            for one in config.services.values()
        ],
        "profiles": {name: list(one.services) for name, one in config.profiles.items()},
        "env_warnings": missing,
        "problems": problems,
    }


def _notes(scope: ProjectScope, config: Config) -> list[str]:
    """What is as it should be, but may surprise."""
    made: list[str] = []
    usual, tld = slug(config.name), config.proxy.tld
    if config.slug != usual:
        others = scope.registry.read().projects.values()
        root = next((one.root for one in others if one.slug == usual), None)
        made.append(f"the name `{usual}` belongs to {root}; services here are `{config.slug}`")
    ports: dict[int, list[str]] = {}
    for one in config.services.values():
        if one.canonical_port:
            ports.setdefault(one.canonical_port, []).append(one.name)
    made += [
        f"{' and '.join(names)} share the canonical port {port}: check one of them out by name"
        for port, names in ports.items()
        if len(names) > 1
    ]
    named = any(one.has_port and one.protocol == "http" for one in config.services.values())
    if named and not names_resolve(tld):
        made.append(
            f"this machine does not resolve `*.{tld}`: browsers and curl may know the names, other "
            f"programs need `direct_url`, which services are given of each other ({hint_names()})"
        )
    return made


def _of_supervisor(scope: ProjectScope, ping: Ping) -> list[str]:
    """What is wrong with the supervisor that lives."""
    try:
        found = ping.answer()
    except YardFault as fault:
        return [f"{fault.message}; the next `switchyard up` or `down` replaces it"]
    if found is None:
        return ["the supervisor is of an older version; restart it with `switchyard down` and `up`"]
    told: list[str] = []
    if found["version"] != __version__:
        told.append(
            f"the supervisor is of version {found['version']}, this is {__version__}; "
            "restart it with `switchyard down` and `up`"
        )
    told += [
        f"port {port} takes no further connections: {found['tunnels']} of at most "
        f"{found['most_tunnels']} are open (raise `ulimit -n`, then restart the supervisor)"
        for port in found["paused"]
    ]
    if found.get("unsaved"):
        told.append(
            f"the supervisor cannot write its records to the disk of {scope.home.path}; "
            "until it can, `status` may show what was before"
        )
    if found["faults"]:
        told.append(f"{found['faults']} connection(s) failed; see {scope.places.supervisor_log}")
    return told


def _drifts(scope: ProjectScope, target: Target) -> bool:
    here, there = scope.root / FILE_NAME, target.worktree / FILE_NAME
    if target.worktree == scope.root or not there.is_file():
        return False
    return here.read_bytes() != there.read_bytes()
