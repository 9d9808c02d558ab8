"""`status`: what was started, and its state now. Needs no configuration."""

from switchyard.cli.arguments import YardArguments
from switchyard.cli.report import YardReport, port_lines, service_lines
from switchyard.project.home import default_home
from switchyard.project.scope import locate
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
    return YardReport("status", found, lines)
