"""Runs the commands that a project attaches to its own events."""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from switchkit.platform.files import scratch_file
from switchyard.config.placeholders import fill
from switchyard.config.shapes import Config
from switchyard.core.environ import base_environment
from switchyard.core.fault import YardFault
from switchyard.project.scope import Target

HOOK_S = 600.0
SHOWN_BYTES = 2000

Runner = Callable[[list[str], Path, Mapping[str, str], int], int | None]
"""Runs a command in a folder with variables and an output; its exit code, or nothing in time."""


class HookSite(NamedTuple):
    """Where hooks run: the branch, the project, and whose variables they get."""

    target: Target
    config: Config
    caller: Mapping[str, str]

    def values(self) -> dict[str, str]:
        """What a hook may ask for."""
        return {
            "branch": self.target.branch,
            "branch_slug": self.target.slug,
            "branch_db": self.target.slug.replace("-", "_"),
            "project": self.config.name,
            "project_slug": self.config.slug,
            "root": str(self.config.root),
            "worktree": str(self.target.worktree),
        }

    def environment(self) -> dict[str, str]:
        """The variables a hook runs with."""
        own = {f"SWITCHYARD_{key.upper()}": text for key, text in self.values().items()}
        return {**base_environment(self.caller), "SWITCHYARD": "1", **own}


def run_hooks(
    hooks: Iterable[tuple[str, ...]], site: HookSite, run: Runner, *, fatal: bool
) -> list[str]:
    """Run the commands one after the other; returns what failed.

    Raises `YardFault` at the first failure when `fatal`.
    """
    problems: list[str] = []
    for hook in hooks:
        command = [fill(text, site.values()) for text in hook]
        with os.fdopen(scratch_file("hook"), "rb") as output:
            try:
                code = run(command, site.target.worktree, site.environment(), output.fileno())
                told = ""
            except OSError as wrong:
                code, told = -1, str(wrong)
            output.seek(max(0, output.seek(0, os.SEEK_END) - SHOWN_BYTES))
            told = told or output.read().decode("utf-8", "replace")
        if code != 0:
            problems.append(f"the hook `{' '.join(command)}` failed with {code}")
            if fatal:
                raise YardFault(
                    "hook-failed", problems[-1], details={"output": told.splitlines()[-20:]}
                )
    return problems
