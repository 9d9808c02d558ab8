"""What git says has changed: requested early, read late.

Git takes about as long as everything else in a brief, so the two run side by side. `subprocess`
alone would take longer to load than git takes to answer.
"""

import contextlib
import os
from pathlib import Path

from switchyard.core.environ import caller, on_path
from switchyard.core.fault import YardFault
from switchyard.project.git_files import git_folder

QUIET = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
_SIGPIPE = 13


def git_environment() -> dict[str, str]:
    """The caller's variables, without those of an outer git, which would point elsewhere."""
    return {key: one for key, one in caller().items() if not key.startswith("GIT_")} | QUIET


class StatusQuery:
    """A running `git status`. The caller closes it."""

    def __init__(self, path: Path) -> None:
        self._pid: int | None = None
        self._output = -1
        if not path.is_dir() or git_folder(path) is None:
            return
        env = git_environment()
        program = on_path("git", env.get("PATH", os.defpath))
        if program is None:
            raise YardFault("git-missing", "git is not installed")
        words = ["status", "--porcelain=v1", "-z", "--untracked-files=normal"]
        self._output, theirs = os.pipe()
        try:
            self._pid = os.posix_spawn(
                program,
                ["git", "-C", str(path), *words],
                env,
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_DUP2, theirs, 1),
                    (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
                ],
                setsigdef=[_SIGPIPE],
            )
        finally:
            os.close(theirs)

    def changed_files(self) -> list[str]:
        """Files that differ from the last commit, each after git's two status letters."""
        chunks: list[bytes] = []
        while self._pid is not None and (chunk := os.read(self._output, 1 << 16)):
            chunks.append(chunk)
        entries = iter(os.fsdecode(b"".join(chunks)).split("\0"))
        made: list[str] = []
        for entry in entries:
            if entry:
                made.append(entry)
                if entry[0] in "RC":
                    next(entries, None)
        return made

    def close(self) -> None:
        """Clean up. Git ends when nobody reads its output."""
        if self._output >= 0:
            os.close(self._output)
            self._output = -1
        if self._pid is not None:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._pid, 0)
            self._pid = None


def changed_files(path: Path) -> list[str]:
    """Files that differ from the last commit, each after git's two status letters."""
    with contextlib.closing(StatusQuery(path)) as question:
        return question.changed_files()
