"""Runs a hook without a supervisor: when worktrees are created and removed."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from switchyard.runtime.hooks import HOOK_S


def run_here(command: list[str], cwd: Path, env: Mapping[str, str], output: int) -> int | None:
    """Run a command as a child of this very process."""
    try:
        return subprocess.run(
            command,
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            timeout=HOOK_S,
            check=False,
        ).returncode
    except subprocess.TimeoutExpired:
        return None
