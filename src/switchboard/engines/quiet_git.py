"""Engines whose git starts no program that only the settings of a repository name.

They run `git status` before anybody has said a word, and Claude Code lets its model do so unasked.
"""

from collections.abc import Mapping

from switchboard.procs.trial import trial
from switchkit.git.git_settings import FSMONITOR, NO_REFRESH, VARIABLES, with_settings
from switchkit.git.quiet_git import replaced

_PATIENCE_S = 10.0


def with_quiet_git(env: Mapping[str, str], cwd: str = "") -> dict[str, str]:
    """The environment of an engine that works there. Blocks: git is asked for its settings."""
    quiet = {**env, **VARIABLES}

    def told(folder: str, *words: str) -> str:
        quietly = ("git", "-C", folder, "-c", "=".join(FSMONITOR))
        try:
            asked = trial((*quietly, *words), timeout_s=_PATIENCE_S, env=quiet)
        except OSError:
            # Without git nobody asks it.
            return ""
        return asked.stdout

    return with_settings(quiet, [FSMONITOR, NO_REFRESH, *(replaced(told, cwd) if cwd else ())])
