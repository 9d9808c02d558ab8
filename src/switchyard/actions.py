"""The actions on a project, as the command line and MCP both take them."""

from collections.abc import Mapping, Sequence
from typing import Any

from switchyard.answers import check_service
from switchyard.checkouts import stored_checkouts
from switchyard.client import Listen, ask
from switchyard.configured import config_for, config_of
from switchyard.fault import CONFLICT, USAGE, Fault
from switchyard.recover import all_runs
from switchyard.scope import Scope
from switchyard.suggest import hint


def _stopping_branch(scope: Scope, branch: str | None) -> str | None:
    """Which branch an omitted one means: the worktree's own, or all when at the root."""
    if branch is not None:
        return scope.target(branch).branch
    return scope.here.branch if scope.here else None


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
    target = scope.target(branch)
    config = config_for(scope, target)
    for name in services:
        check_service(config, name)
    if profile is not None and profile not in config.profiles:
        raise Fault(
            "unknown-profile",
            f"unknown profile `{profile}`; {hint(profile, config.profiles)}",
            exit_code=USAGE,
        )
    if not target.worktree.is_dir():
        raise Fault("no-folder", f"the worktree of `{target.branch}` is gone: {target.worktree}")
    for one in scope.targets():
        if one.slug == target.slug and one.branch != target.branch:
            raise Fault(
                "slug-taken",
                f"`{target.branch}` and `{one.branch}` have the same short name `{one.slug}`",
                hint="rename one of the branches",
                exit_code=CONFLICT,
            )
    scope.registry.register(scope.root, config.name)
    request = {
        "operation": "up",
        "branch": target.branch,
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
    runs = all_runs(scope.root, scope.places)
    known = {run.service for run in runs}
    for name in services:
        if name not in known:
            check_service(config_of(scope), name)
    if not runs and not scope.places.is_supervised():
        return {"stopped": []}
    request = {"operation": "down", "branch": chosen, "services": list(services)}
    return ask(scope.home, scope.root, request)


def checkout(
    scope: Scope, *, branch: str | None = None, services: Sequence[str] = ()
) -> dict[str, Any]:
    """Lead the canonical ports to a branch."""
    target = scope.target(branch)
    for name in services:
        check_service(config_for(scope, target), name)
    scope.registry.register(scope.root, config_of(scope).name)
    request = {"operation": "checkout", "branch": target.branch, "services": list(services)}
    return ask(scope.home, scope.root, request)


def uncheckout(
    scope: Scope, *, branch: str | None = None, services: Sequence[str] = ()
) -> dict[str, Any]:
    """Let canonical ports go: those of one branch, or all."""
    chosen = _stopping_branch(scope, branch)
    for name in services:
        check_service(config_of(scope), name)
    if not stored_checkouts(scope.places):
        return {"closed": []}
    request = {"operation": "uncheckout", "branch": chosen, "services": list(services)}
    return ask(scope.home, scope.root, request)
