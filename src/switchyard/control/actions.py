"""The actions on a project, for the command line and MCP alike.

The supervisor checks every name against the configuration. That code is not imported here, nor is
what only stopping needs, so that a command starts as fast as it can.
"""

from collections.abc import Mapping, Sequence

from switchyard.control.client import Listen, ask
from switchyard.control.protocol import (
    CheckoutAnswer,
    CheckoutRequest,
    DownAnswer,
    DownRequest,
    StoppedRow,
    UncheckoutAnswer,
    UncheckoutRequest,
    UpAnswer,
    UpRequest,
)
from switchyard.project.scope import FILE_NAME, ProjectScope, Target


def _stopping_branch(scope: ProjectScope, branch: str | None) -> str | None:
    """What an omitted branch means: the worktree's own, or all branches at the root."""
    if branch is not None:
        from switchyard.runtime.branches import known_target  # noqa: PLC0415

        return known_target(scope, branch).branch
    return scope.here.branch if scope.here else None


def _check_services(scope: ProjectScope, services: Sequence[str]) -> None:
    """Refuse unknown names when no supervisor will be asked."""
    if services:
        from switchyard.project.configuration import check_service, config_of  # noqa: PLC0415

        config = config_of(scope)
        for name in services:
            check_service(config, name)


def _check_configuration(scope: ProjectScope, target: Target) -> None:
    """Refuse a configuration with mistakes before a supervisor is started to find them.

    A file unchanged since a supervisor last read it needs no check. That saves most first starts a
    tenth of their time: two processes would read the file, one after the other.
    """
    places = scope.places
    if not places.is_supervised() and not places.knows(scope.root / FILE_NAME):
        from switchyard.project.configuration import config_for  # noqa: PLC0415

        config_for(scope, target)


def up(
    scope: ProjectScope,
    *,
    branch: str | None = None,
    services: Sequence[str] = (),
    profile: str | None = None,
    wait: bool = True,
    timeout_s: float | None = None,
    recreate: bool = False,
    env: Mapping[str, str],
    listen: Listen | None = None,
) -> UpAnswer:
    """Start services of a branch. Everything is checked before anything is started."""
    target = scope.target(branch)
    _check_configuration(scope, target)
    request = UpRequest(
        target.branch, tuple(services), profile, wait, timeout_s, dict(env), recreate
    )
    made = ask(scope.home, scope.root, request, UpAnswer, listen)
    before = scope.before_move()
    if before and _is_running(before):
        told = f"what was started in {before.root} before the folder was moved still runs"
        made["warnings"].append(f"{told}; `switchyard down` stops it too")
    return made


def down(
    scope: ProjectScope,
    *,
    branch: str | None = None,
    services: Sequence[str] = (),
    keeps_ports: bool = False,
) -> DownAnswer:
    """Stop services of one branch or of all. Starts no supervisor where nothing ever ran.

    `keeps_ports` is for services that start again at once.
    """
    chosen = _stopping_branch(scope, branch)
    request = DownRequest(chosen, tuple(services), keeps_ports)
    before = scope.before_move()
    stopped: list[StoppedRow] = _down(before, request)["stopped"] if before else []
    if not before and not _runs(scope):
        _check_services(scope, services)
    return {"stopped": stopped + _down(scope, request)["stopped"]}


def _is_running(scope: ProjectScope) -> bool:
    """Whether a service of it lives."""
    from switchyard.runtime.observed import Observer  # noqa: PLC0415
    from switchyard.runtime.runs import all_runs  # noqa: PLC0415

    observer = Observer()
    runs = all_runs(scope.root, scope.places)
    return any(observer.observe(run).status == "running" for run in runs)


def _runs(scope: ProjectScope) -> bool:
    """Whether there is anything to stop."""
    from switchyard.runtime.runs import all_runs  # noqa: PLC0415

    return scope.places.is_supervised() or bool(all_runs(scope.root, scope.places, sweeps=True))


def _down(scope: ProjectScope, request: DownRequest) -> DownAnswer:
    if not _runs(scope):
        return {"stopped": []}
    return ask(scope.home, scope.root, request, DownAnswer)


def checkout(
    scope: ProjectScope, *, branch: str | None = None, services: Sequence[str] = ()
) -> CheckoutAnswer:
    """Point the canonical ports at a branch."""
    target = scope.target(branch)
    _check_configuration(scope, target)
    request = CheckoutRequest(target.branch, tuple(services))
    return ask(scope.home, scope.root, request, CheckoutAnswer)


def uncheckout(
    scope: ProjectScope, *, branch: str | None = None, services: Sequence[str] = ()
) -> UncheckoutAnswer:
    """Release canonical ports: those of one branch, or all."""
    from switchyard.runtime.checkouts import stored_checkouts  # noqa: PLC0415

    chosen = _stopping_branch(scope, branch)
    _check_services(scope, services)
    if not stored_checkouts(scope.places):
        return {"closed": []}
    request = UncheckoutRequest(chosen, tuple(services))
    return ask(scope.home, scope.root, request, UncheckoutAnswer)
