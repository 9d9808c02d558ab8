"""A short run of a program whose answer is waited for. Blocks, and no longer than it is told."""

import signal
import subprocess
from collections.abc import Mapping, Sequence

from msgspec import Struct

from switchkit.platform import signal_group


class Trial(Struct, frozen=True, kw_only=True):
    """How a program ended and what it said. The status is None when it took too long."""

    status: int | None
    stdout: str = ""
    stderr: str = ""


def trial(
    argv: Sequence[str],
    *,
    timeout_s: float,
    inherits: Sequence[int] = (),
    env: Mapping[str, str] | None = None,
) -> Trial:
    """Run a program, by default with an empty environment. Raises OSError when it cannot start."""
    with subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={} if env is None else dict(env),
        cwd="/",
        pass_fds=tuple(inherits),
        start_new_session=True,
    ) as process:
        try:
            stdout, stderr = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            # It leads a session of its own: what it has started ends with it.
            signal_group(process.pid, signal.SIGKILL)
            return Trial(status=None)
    return Trial(
        status=process.returncode,
        stdout=stdout.decode("utf-8", "replace"),
        stderr=stderr.decode("utf-8", "replace"),
    )
