"""The verbs about worktrees: create, adopt, rm, prune, reset."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from switchyard.cli.arguments import YardArguments
from switchyard.cli.report import YardReport, stopped_lines
from switchyard.project.home import default_home
from switchyard.project.scope import ProjectScope, locate
from switchyard.worktrees.create import adopt, create
from switchyard.worktrees.remove import Force, prune, remove
from switchyard.worktrees.resources import make_resources, reset_resource


def _cloned(one: Mapping[str, Any]) -> str:
    """What became of a folder, and why nothing did."""
    return f"{one['result']}, {one['reason']}" if "reason" in one else str(one["result"])


def _create(scope: ProjectScope, arguments: YardArguments) -> YardReport:
    path = arguments.value("path")
    made = create(
        scope,
        arguments.words[0],
        base=arguments.value("base"),
        path=Path(path) if path else None,
        force_env=arguments.has("force-env"),
    )
    target = scope.target(made["branch"])
    resources, warnings = make_resources(scope, target)
    if resources or warnings:
        made |= {"resources": resources, "warnings": [*made.get("warnings", ()), *warnings]}
    lines = [f"{'created' if made['created'] else 'already exists'}: {made['path']}"]
    lines += [f"  {one['path']}: {one['result']}" for one in made["env"]]
    lines += [f"  {one['path']}: {_cloned(one)}" for one in made.get("cloned", ())]
    lines += [f"  {one['resource']}: {one['address']}" for one in resources]
    lines += [f"warning: {one}" for one in made.get("warnings", ())]
    return YardReport("create", made, lines)


def _adopt(scope: ProjectScope, arguments: YardArguments) -> YardReport:
    made = adopt(scope, Path(arguments.words[0]) if arguments.words else None)
    lines = [f"adopted {one['branch']}: {one['path']}" for one in made["adopted"]]
    return YardReport("adopt", made, lines or ["nothing new"])


def _rm(scope: ProjectScope, arguments: YardArguments) -> YardReport:
    force = Force(arguments.has("force-tree"), arguments.has("force-branch"))
    made = remove(
        scope, arguments.words[0], force=force, delete_branch=arguments.has("delete-branch")
    )
    lines = stopped_lines(made["stopped"])
    lines += [f"dropped {one}" for one in made["dropped"]]
    lines += [f"removed {made['removed']}; its files are in {made['trash']}"]
    return YardReport("rm", made, lines)


def _prune(scope: ProjectScope, arguments: YardArguments) -> YardReport:
    made = prune(scope, dry_run=arguments.has("dry-run"), merged=arguments.has("merged"))
    lines = [
        f"{one['action']} {one['branch']} ({one['bytes'] // 1000} kB)"
        + "".join(f"; {reason}" for reason in one["kept_because"])
        for one in made["worktrees"]
    ]
    return YardReport("prune", made, lines or ["nothing to prune"])


def _reset(scope: ProjectScope, arguments: YardArguments) -> YardReport:
    made = reset_resource(scope, scope.target(arguments.branch), arguments.words[0])
    line = f"{made['resource']} of {made['branch']} is new: {made['address']}"
    return YardReport("reset", made, [line])


def run(arguments: YardArguments) -> YardReport:
    """Make, adopt or remove worktrees."""
    scope = locate(arguments.cwd, default_home())
    verbs = {"create": _create, "adopt": _adopt, "rm": _rm, "prune": _prune, "reset": _reset}
    return verbs[arguments.verb](scope, arguments)
