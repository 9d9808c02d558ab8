"""A program that starts others in a sandbox as an ordinary user, whoever runs it.

The kernel counts no processes of root. An interpreter may lie in the home of root, where an
ordinary user finds nothing, so everything is done once before, which loads what is loaded late.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from switchboard.sandbox.policy import SandboxPolicy
from switchboard.sandbox.sandbox import Sandbox

PATH = "/usr/bin:/bin"
NOBODY = 65_534
# It says how many it has started, one after the other, and ends with its first failure.
FORKS = 'i=0; while [ "$i" -lt 60 ]; do sleep 60 & i=$((i+1)); echo "$i"; done'


def run(argv: tuple[str, ...], limits: Mapping[str, int | str]) -> None:
    """Run a program to its end; what it says is for whoever reads our streams."""
    with tempfile.TemporaryDirectory() as folder:
        cwd, home, state = (Path(folder, name) for name in ("workspace", "home", "state"))
        for made in (cwd, home, state):
            made.mkdir()
        policy = SandboxPolicy(
            cwd=str(cwd), home=str(home), state_dir=str(state), path=PATH, limits=limits
        )
        wrapped = Sandbox().wrap(argv, policy, {"PATH": PATH})
        process = subprocess.Popen(
            wrapped.argv,
            stdin=subprocess.DEVNULL,
            cwd=wrapped.cwd,
            env=dict(wrapped.env),
            pass_fds=tuple(file.fileno() for file in wrapped.inherits),
        )
        try:
            vigil = wrapped.release(process.pid)
            process.wait()
            if vigil is not None:
                vigil.close()
        finally:
            process.kill()
            process.wait()
            wrapped.close()


if __name__ == "__main__":
    most: dict[str, int | str] = {"processes": int(sys.argv[1])} if sys.argv[1] else {}
    run(("/bin/true",), most)
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    run(("/bin/sh", "-c", FORKS), most)
