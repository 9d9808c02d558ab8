"""`wait`: until a service is ready, for scripts."""

from switchyard.cli.arguments import YardArguments, usage_fault
from switchyard.cli.report import YardReport
from switchyard.core.fault import NOT_READY
from switchyard.core.quantities import seconds
from switchyard.project.home import default_home
from switchyard.project.scope import locate
from switchyard.queries.waiting import USUAL_WAIT_S, wait_for


def run(arguments: YardArguments) -> YardReport:
    """Wait for one service. It is a failure when it has ended, another when time is up."""
    text = arguments.value("timeout")
    timeout_s = seconds(text) if text else USUAL_WAIT_S
    if timeout_s is None:
        raise usage_fault(f"`{text}` is not a duration; write 30s", "wait")
    scope = locate(arguments.cwd, default_home())
    found = wait_for(scope, arguments.words[0], arguments.branch, timeout_s)
    shown = found["service"]
    reached = shown["phase"] in ("ready", "completed")
    code = 0 if reached else NOT_READY if shown["status"] == "running" else 1
    why = f" ({shown['reason']})" if shown.get("reason") and not reached else ""
    return YardReport("wait", found, [f"{shown['service']} is {shown['phase']}{why}"], code)
