"""`where`: where one service is found."""

from switchyard.cli.arguments import YardArguments
from switchyard.cli.report import YardReport
from switchyard.project.home import default_home
from switchyard.project.scope import locate
from switchyard.queries.services import where


def run(arguments: YardArguments) -> YardReport:
    """Where one service is."""
    scope = locate(arguments.cwd, default_home())
    found = where(scope, arguments.words[0], arguments.branch)
    shown = found["service"]
    keys = (
        "status",
        "phase",
        "reason",
        "url",
        "direct_url",
        "port",
        "pid",
        "branch",
        "worktree",
        "log_path",
    )
    lines = [f"{key:11} {told}" for key in keys if (told := shown.get(key)) is not None]
    return YardReport("where", found, lines)
