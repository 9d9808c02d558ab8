"""`status`: what was started, and its state now. Needs no configuration."""

from typing import Any

from switchkit.platform.promises import promises_here
from switchyard.cli.arguments import YardArguments
from switchyard.cli.report import YardReport, port_lines, service_lines
from switchyard.project.home import default_home
from switchyard.project.scope import ProjectScope, locate
from switchyard.queries.services import status
from switchyard.runtime.branches import known_target
from switchyard.runtime.checkouts import stored_checkouts


def run(arguments: YardArguments) -> YardReport:
    """What runs and what does not."""
    scope = locate(arguments.cwd, default_home())
    branch = arguments.words[0] if arguments.words else arguments.value("branch")
    target = known_target(scope, branch) if branch else scope.here
    found = status(scope, target.branch if target else None)
    lines = service_lines(found["services"])
    lines += port_lines(found["services"], stored_checkouts(scope.places))
    resources = _resources(scope, target.slug if target else None)
    lines += [_told(one) for one in resources]
    promises = [each._asdict() for each in promises_here()]
    return YardReport("status", {**found, "resources": resources, "promises": promises}, lines)


def _resources(scope: ProjectScope, branch_slug: str | None) -> list[dict[str, Any]]:
    """What was made for branches besides services, without passwords."""
    if not (scope.places.folder / "resources").is_dir():
        return []
    # Few projects have any.
    from switchyard.runtime.resource_records import resource_records, shown_address  # noqa: PLC0415

    return [
        {
            "resource": one.resource,
            "branch_slug": one.branch_slug,
            "kind": one.kind,
            "address": shown_address(one.address),
            **({"prefix": one.extra[key]} if (key := f"{one.env}_PREFIX") in one.extra else {}),
        }
        for one in resource_records(scope.places, branch_slug)
    ]


def _told(one: dict[str, Any]) -> str:
    prefix = f", keys begin with {one['prefix']}" if "prefix" in one else ""
    return f"{one['resource']} of {one['branch_slug']}: {one['address']}{prefix}"
