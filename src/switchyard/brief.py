"""The brief: git is asked first, and works while the rest is loaded and read."""

import contextlib
import importlib
from pathlib import Path
from typing import Any

from switchyard.gitstatus import Question
from switchyard.scope import Scope, Target


def brief(scope: Scope, branch: str | None = None) -> dict[str, Any]:
    """What an agent needs to know first, in a size that does not grow with the project."""
    target = scope.target(branch) if branch else scope.here
    folder = (target or scope.main()).worktree
    if not folder.is_dir():
        return _compose(scope, target, folder, None)
    with contextlib.closing(Question(folder)) as question:
        return _compose(scope, target, folder, question)


def _compose(
    scope: Scope, target: Target | None, folder: Path, question: Question | None
) -> dict[str, Any]:
    compose = importlib.import_module("switchyard.briefing").compose
    return compose(scope, target, folder, question)
