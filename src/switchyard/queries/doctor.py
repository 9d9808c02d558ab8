"""The doctor: the setup of a project, and what is wrong with it. Reads only."""

import os
import sys
from typing import Any

from switchyard import __version__
from switchyard.core.environ import caller, on_path
from switchyard.project.configuration import config_of
from switchyard.project.git_files import main_checkout
from switchyard.project.scope import FILE_NAME, ProjectScope, Target
from switchyard.queries.brief import env_warnings


def doctor(scope: ProjectScope) -> dict[str, Any]:
    """Project setup, proxy, services, version and what is wrong."""
    config = config_of(scope)
    places = scope.places
    problems: list[str] = []
    if scope.registry.read().rebuilt:
        problems.append("the registry was damaged; it is rebuilt at the next change")
    for one in scope.targets():
        if not one.worktree.is_dir():
            problems.append(f"the worktree of `{one.branch}` is gone: {one.worktree}")
        elif _drifts(scope, one):
            problems.append(f"`{FILE_NAME}` of `{one.branch}` differs from the root's")
    parent = main_checkout(scope.root)
    if parent and parent != scope.root and (parent / FILE_NAME).is_file():
        problems.append(f"this is an unregistered worktree; run `switchyard adopt` in {parent}")
    if on_path("git", caller().get("PATH", os.defpath)) is None:
        problems.append("`git` is not installed")
    return {
        "healthy": not problems,
        "version": __version__,
        "python": sys.version.split()[0],
        "project": config.name,
        "root": str(scope.root),
        "config_path": str(config.path),
        "home": str(scope.home.path),
        "state_path": str(scope.home.state),
        "supervised": places.is_supervised(),
        "proxy": {
            **config.proxy._asdict(),
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
        "env_warnings": env_warnings(scope, config),
        "problems": problems,
    }


def _drifts(scope: ProjectScope, target: Target) -> bool:
    here, there = scope.root / FILE_NAME, target.worktree / FILE_NAME
    if target.worktree == scope.root or not there.is_file():
        return False
    return here.read_bytes() != there.read_bytes()
