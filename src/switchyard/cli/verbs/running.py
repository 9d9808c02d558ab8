"""The verbs that use a running service: open, exec, env."""

import os
import re
import shutil
import subprocess
import sys

from switchkit.processes import environment
from switchyard.cli.arguments import YardArguments, usage_fault
from switchyard.cli.report import YardReport
from switchyard.core.fault import YardFault
from switchyard.project.configuration import check_service, config_for
from switchyard.project.home import default_home
from switchyard.project.scope import SHARED_BRANCH, SHARED_SLUG, ProjectScope, Target, locate
from switchyard.queries.services import where
from switchyard.runtime.family import RUN_VARIABLE
from switchyard.runtime.launch import Planner
from switchyard.runtime.observed import Observer
from switchyard.runtime.ports import PortTable
from switchyard.runtime.resolving import names_resolve
from switchyard.runtime.runs import RunBook

_SECRET = re.compile(r"(?i)(pass|secret|token|key|credential|auth(?!or)|cookie|dsn|private)")
_IN_URL = re.compile(r"(?<=://)([^:/@\s]+):[^@/\s]+(?=@)")


def redacted(name: str, value: str) -> str:
    """The value, unless it looks like something that must not be shown."""
    if _SECRET.search(name):
        return "[redacted]"
    return _IN_URL.sub(r"\1:[redacted]", value)


def _open(scope: ProjectScope, arguments: YardArguments) -> YardReport:
    found = where(scope, arguments.words[0], arguments.branch)["service"]
    url = found.get("url")
    if found["status"] != "running" or not url:
        raise YardFault(
            "not-running", f"`{arguments.words[0]}` is not running", hint="switchyard up"
        )
    browser = shutil.which("xdg-open") or shutil.which("open")
    if not arguments.has("print-only") and browser:
        subprocess.Popen([browser, url], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return YardReport("open", {"url": url}, [url])


def _variables(scope: ProjectScope, target: Target, service: str | None) -> dict[str, str]:
    """The variables of a running service, or those it would be started with."""
    config = config_for(scope, target)
    name = service or next(iter(config.services))
    check_service(config, name)
    book = RunBook(scope.places)
    run = book.get(target.slug, name) or book.get(SHARED_SLUG, name)
    if run and Observer().observe(run).status == "running":
        variables = environment(run.pid)
        # Some programs write their title over their variables.
        if RUN_VARIABLE in variables:
            return variables
    table = PortTable(scope.home)
    ports = {(target.slug, k): p for k, p in table.lookup(scope.root, target.branch).items()}
    ports |= {(SHARED_SLUG, k): p for k, p in table.lookup(scope.root, SHARED_BRANCH).items()}
    resolves = names_resolve(config.proxy.tld)
    planner = Planner(config, target, scope.places, ports, caller=os.environ, resolves=resolves)
    return dict(planner.launch(name).env)


def _env(scope: ProjectScope, arguments: YardArguments) -> YardReport:
    target = scope.target(arguments.branch)
    variables = _variables(scope, target, arguments.words[0])
    if not arguments.has("reveal"):
        variables = {key: redacted(key, one) for key, one in variables.items()}
    lines = [f"{key}={value}" for key, value in sorted(variables.items())]
    return YardReport("env", {"service": arguments.words[0], "env": variables}, lines)


def _exec(scope: ProjectScope, arguments: YardArguments) -> YardReport:
    if not arguments.command:
        raise usage_fault("`exec` needs a command after `--`", "exec")
    target = scope.target(arguments.words[0] if arguments.words else None)
    variables = _variables(scope, target, arguments.value("service"))
    variables.pop("SWITCHYARD_RUN_ID", None)
    try:
        # With --json, stdout belongs to the envelope.
        output = sys.stderr if arguments.has("json") else None
        done = subprocess.run(
            arguments.command, cwd=target.worktree, env=variables, stdout=output, check=False
        )
    except OSError as wrong:
        raise YardFault("cannot-run", f"{arguments.command[0]}: {wrong.strerror}") from None
    data = {"branch": target.branch, "exit_code": done.returncode}
    return YardReport(
        "exec", data, (), done.returncode if done.returncode >= 0 else 128 - done.returncode
    )


def run(arguments: YardArguments) -> YardReport:
    """Use what runs."""
    scope = locate(arguments.cwd, default_home())
    verbs = {"open": _open, "env": _env, "exec": _exec}
    return verbs[arguments.verb](scope, arguments)
