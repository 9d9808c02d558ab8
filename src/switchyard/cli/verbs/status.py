"""`status`: what was started, and its state now. Needs no configuration."""

from switchyard.cli.arguments import YardArguments
from switchyard.cli.report import YardReport, service_lines
from switchyard.project.home import default_home
from switchyard.project.scope import locate
from switchyard.queries.services import status


def run(arguments: YardArguments) -> YardReport:
    """What runs and what does not."""
    scope = locate(arguments.cwd, default_home())
    branch = arguments.words[0] if arguments.words else arguments.value("branch")
    target = scope.target(branch) if branch else scope.here
    found = status(scope, target.branch if target else None)
    return YardReport("status", found, service_lines(found["services"]))
