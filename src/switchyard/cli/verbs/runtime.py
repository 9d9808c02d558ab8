"""The verbs that change what runs: up, down, restart, checkout, uncheckout."""

import contextlib
import os
import sys
from typing import Any

from switchkit.suggest import did_you_mean, suggestion
from switchyard.cli.arguments import YardArguments, usage_fault
from switchyard.cli.report import YardReport, led_line, port_lines, service_lines, stopped_lines
from switchyard.control.actions import checkout, down, uncheckout, up
from switchyard.control.protocol import UpAnswer
from switchyard.core.fault import USAGE, YardFault
from switchyard.core.quantities import seconds
from switchyard.project.home import default_home
from switchyard.project.scope import ProjectScope, locate
from switchyard.runtime.checkouts import stored_checkouts


def branch_and_services(
    scope: ProjectScope, arguments: YardArguments
) -> tuple[str | None, list[str]]:
    """The branch and the services: the first word or the last may name the branch."""
    words = list(arguments.words)
    branch = arguments.value("branch")
    if branch is None and words:
        services, recorded = _names(scope)
        branches = {name for one in scope.targets() for name in (one.branch, one.slug)}
        if words[0] in branches:
            branch = words.pop(0)
        elif words[-1] in branches and words[-1] not in services:
            branch = words.pop()
        elif words[0] not in services:
            _check_typed(words[0], services, branches | recorded)
            branch = words.pop(0)
    return branch, words


def _check_typed(word: str, services: set[str], branches: set[str]) -> None:
    """Refuse a word that is nearly a service: nobody wants a branch of that name."""
    if did_you_mean(word, services) and not did_you_mean(word, branches):
        told = f"`{word}` is neither a service nor a branch; {suggestion(word, services)}"
        raise YardFault("unknown-service", told, exit_code=USAGE)


def _names(scope: ProjectScope) -> tuple[set[str], set[str]]:
    """Services that a word may mean, and branches that something was started under.

    Whatever runs is a service too, though the configuration may have it no more.
    """
    # Only an ambiguous word needs them.
    from switchyard.project.configuration import config_of  # noqa: PLC0415
    from switchyard.runtime.runs import RunBook  # noqa: PLC0415

    runs = RunBook(scope.places).all()
    services = {run.service for run in runs}
    # Whoever needs the configuration says what is wrong with it; stopping does not.
    with contextlib.suppress(YardFault):
        services |= set(config_of(scope).services)
    return services, {name for run in runs for name in (run.branch, run.branch_slug)}


def timeout_of(arguments: YardArguments) -> float | None:
    """How long to wait for a start, if it is limited."""
    timeout = arguments.value("timeout")
    timeout_s = seconds(timeout) if timeout else None
    if timeout and timeout_s is None:
        raise usage_fault(f"`{timeout}` is not a duration; write 30s", "up")
    return timeout_s


def _shown_up(scope: ProjectScope, **wanted: Any) -> UpAnswer:
    """Start services; somebody at a terminal sees what is awaited."""
    if not sys.stderr.isatty():
        return up(scope, env=os.environ, **wanted)
    # Nobody else needs what draws it.
    from switchyard.cli.start_screen import StartScreen  # noqa: PLC0415

    with StartScreen(sys.stderr, scope.places) as screen:
        return up(scope, env=os.environ, listen=screen.hear, **wanted)


def _up(scope: ProjectScope, arguments: YardArguments) -> YardReport:
    branch, services = branch_and_services(scope, arguments)
    made = _shown_up(
        scope,
        branch=branch,
        services=services,
        profile=arguments.value("profile"),
        wait=not arguments.has("no-wait"),
        timeout_s=timeout_of(arguments),
        recreate=arguments.has("recreate"),
    )
    lines = service_lines(made["services"])
    lines += port_lines(made["services"], stored_checkouts(scope.places))
    lines += [f"warning: {one}" for one in made["warnings"]]
    return YardReport("up", made, lines)


def _down(scope: ProjectScope, arguments: YardArguments) -> YardReport:
    branch, services = branch_and_services(scope, arguments)
    made = down(scope, branch=branch, services=services)
    return YardReport("down", made, stopped_lines(made["stopped"]) or ["nothing ran"])


def _restart(scope: ProjectScope, arguments: YardArguments) -> YardReport:
    branch, services = branch_and_services(scope, arguments)
    target = scope.target(branch)
    stopped = down(scope, branch=target.branch, services=services, keeps_ports=True)
    again = services or [one["service"] for one in stopped["stopped"]]
    made = _shown_up(
        scope,
        branch=target.branch,
        services=again,
        profile=arguments.value("profile"),
    )
    return YardReport("restart", {**made, **stopped}, service_lines(made["services"]))


def _checkout(scope: ProjectScope, arguments: YardArguments) -> YardReport:
    branch, services = branch_and_services(scope, arguments)
    made = checkout(scope, branch=branch, services=services)
    lines = [led_line(one["port"], one["service"], one["branch"]) for one in made["checkouts"]]
    lines += [f"warning: {one}" for one in made.get("warnings", ())]
    return YardReport("checkout", made, lines)


def _uncheckout(scope: ProjectScope, arguments: YardArguments) -> YardReport:
    branch, services = branch_and_services(scope, arguments)
    made = uncheckout(scope, branch=branch, services=services)
    lines = [f"closed {one['port']}" for one in made["closed"]]
    return YardReport("uncheckout", made, lines or ["no canonical port was open"])


def run(arguments: YardArguments) -> YardReport:
    """Change what runs."""
    scope = locate(arguments.cwd, default_home())
    verbs = {
        "up": _up,
        "down": _down,
        "restart": _restart,
        "checkout": _checkout,
        "uncheckout": _uncheckout,
    }
    return verbs[arguments.verb](scope, arguments)
