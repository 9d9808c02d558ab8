"""What mends a finding and changes nothing that somebody made."""

import shlex

from msgspec import Struct

from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.hosts.plan import own_program
from switchboard.procs.trial import trial

_FIXING_S = 60.0


class Fixed(Struct, frozen=True, kw_only=True):
    """A command that `--fix` ran. A reason says why it mended nothing."""

    command: str
    reason: str = ""


def run_remedy(remedy: tuple[str, ...], request: CommandRequest) -> Fixed:
    """Run the command of a finding."""
    command = shlex.join(remedy)
    request.talk.progress(command)
    program = own_program() if remedy[0] == "switchboard" else remedy[0]
    try:
        done = trial((program, *remedy[1:]), timeout_s=_FIXING_S, env=request.environ)
    except OSError as refused:
        return Fixed(command=command, reason=refused.strerror or "it could not be started")
    if done.status == 0:
        return Fixed(command=command)
    reason = (done.stderr or done.stdout).strip() or "it failed"
    return Fixed(command=command, reason=reason if done.status is not None else "it takes too long")
