"""The actions on a project, as the command line and MCP both take them.

The supervisor checks every name against the configuration; nothing of that is imported here, nor
what only stopping needs, so that a command is on its way as soon as it can be.
"""

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from switchyard.control.client import Listen, ask
from switchyard.project.scope import Scope


def _stopping_branch(scope: Scope, branch: str | None) -> str | None:
    """Which branch an omitted one means: the worktree's own, or all when at the root."""
    if branch is not None:
        return scope.target(branch).branch
    return scope.here.branch if scope.here else None


def _check(scope: Scope, services: Sequence[str]) -> None:
    """Refuse unknown names where no supervisor will be asked."""
    if services:
        configured = importlib.import_module("switchyard.project.configuration")
        config = configured.config_of(scope)
        for name in services:
            configured.check_service(config, name)


def up(
    scope: Scope,
    *,
    branch: str | None = None,
    services: Sequence[str] = (),
    profile: str | None = None,
    wait: bool = True,
    timeout_s: float | None = None,
    env: Mapping[str, str],
    listen: Listen | None = None,
) -> dict[str, Any]:
    """Start services of a branch. Everything is checked before anything is started."""
    request = {
        "operation": "up",
        "branch": scope.target(branch).branch,
        "services": list(services),
        "profile": profile,
        "wait": wait,
        "timeout_s": timeout_s,
        "env": dict(env),
    }
    return ask(scope.home, scope.root, request, listen)


def down(
    scope: Scope, *, branch: str | None = None, services: Sequence[str] = ()
) -> dict[str, Any]:
    """Stop services of a branch, or of all. Nothing is started for a yard where nothing ran."""
    chosen = _stopping_branch(scope, branch)
    if not scope.places.is_supervised():
        recover = importlib.import_module("switchyard.runtime.lost_runs")
        if not recover.all_runs(scope.root, scope.places):
            _check(scope, services)
            return {"stopped": []}
    request = {"operation": "down", "branch": chosen, "services": list(services)}
    return ask(scope.home, scope.root, request)


def checkout(
    scope: Scope, *, branch: str | None = None, services: Sequence[str] = ()
) -> dict[str, Any]:
    """Lead the canonical ports to a branch."""
    target = scope.target(branch)
    request = {"operation": "checkout", "branch": target.branch, "services": list(services)}
    return ask(scope.home, scope.root, request)


def uncheckout(
    scope: Scope, *, branch: str | None = None, services: Sequence[str] = ()
) -> dict[str, Any]:
    """Let canonical ports go: those of one branch, or all."""
    chosen = _stopping_branch(scope, branch)
    _check(scope, services)
    if not importlib.import_module("switchyard.runtime.checkouts").stored_checkouts(scope.places):
        return {"closed": []}
    request = {"operation": "uncheckout", "branch": chosen, "services": list(services)}
    return ask(scope.home, scope.root, request)
