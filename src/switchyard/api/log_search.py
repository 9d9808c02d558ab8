"""Searches logs with an untrusted pattern, in a separate process.

Some regular expressions run for years, and would block this whole interpreter.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from switchyard.core.environ import base_environment, caller
from switchyard.core.fault import USAGE, YardFault, fault_from_json
from switchyard.project.home import Home
from switchyard.project.registry import Registry
from switchyard.project.scope import ProjectScope, within
from switchyard.queries.logs import logs

PATIENCE_S = 5.0
# Without these a pattern takes time in proportion to the log, however it is written.
RISKY = "*+?{("
_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from switchyard.api.log_search import main; sys.exit(main())"
)


def search_logs(scope: ProjectScope, wanted: dict[str, Any]) -> dict[str, Any]:
    """What `queries.logs` finds. Raises `YardFault` when the pattern takes too long."""
    grep: str = wanted["grep"] or ""
    if not any(sign in grep for sign in RISKY):
        return logs(scope, **wanted)
    request = {
        "home": str(scope.home.path),
        "root": str(scope.root),
        "cwd": str(scope.here.worktree if scope.here else scope.root),
        "wanted": wanted,
    }
    package_parent = str(Path(__file__).resolve().parents[2])
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _BOOT, package_parent],
            input=json.dumps(request).encode(),
            env=base_environment(caller()),
            capture_output=True,
            timeout=PATIENCE_S,
            check=True,
        )
    except subprocess.TimeoutExpired:
        told = f"`{grep}` takes longer than {PATIENCE_S:g} s"
        raise YardFault(
            "slow-pattern", told, hint="avoid nested repetition", exit_code=USAGE
        ) from None
    answer: dict[str, Any] = json.loads(done.stdout)
    if "error" in answer:
        raise fault_from_json(answer["error"])
    return answer


def main() -> int:
    """Answer one request from stdin."""
    request: dict[str, Any] = json.load(sys.stdin)
    home = Home(Path(request["home"]))
    scope = ProjectScope(home, Registry(home), Path(request["root"]), None)
    try:
        answer = logs(within(scope, Path(request["cwd"])), **request["wanted"])
    except YardFault as fault:
        answer = {"error": fault.as_json()}
    sys.stdout.write(json.dumps(answer))
    return 0
