"""What git says has changed: requested early, read late.

Git takes about as long as everything else in a brief, so the two run side by side. `subprocess`
alone would take longer to load than git takes to answer.
"""

import contextlib
import os
from pathlib import Path

from switchkit.git.git_settings import FSMONITOR, VARIABLES, with_settings
from switchyard.core.environ import caller, on_path
from switchyard.core.fault import YardFault
from switchyard.project.git_files import git_folder

QUIET = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
_SIGPIPE = 13
_TELLING = (b"filter", b"include")
# The mode of a submodule, as the index writes it.
_SUBMODULE = b"\x00\x00\xe0\x00"


def git_environment() -> dict[str, str]:
    """The caller's variables, without those of an outer git, which would point elsewhere."""
    own = {key: one for key, one in caller().items() if not key.startswith("GIT_")}
    return with_settings(own | QUIET, [FSMONITOR])


def looking_environment(path: Path, folder: Path) -> dict[str, str]:
    """The same for whoever only looks, and starts nothing that the repository alone names."""
    env = git_environment() | VARIABLES
    if not _may_name_programs(folder):
        return env
    # Few repositories do, and a question more takes git as long as a small status.
    from switchkit.git.quiet_git import replaced  # noqa: PLC0415 - it loads `re`
    from switchyard.git.repository import git  # noqa: PLC0415 - it loads `subprocess`

    def told(place: str, *words: str) -> str:
        return git(Path(place), *words, check=False)

    return with_settings(env, replaced(told, str(path)))


def _may_name_programs(folder: Path) -> bool:
    """Whether the settings of a repository may name a filter, or it has submodules with theirs."""
    common = folder
    with contextlib.suppress(OSError):
        common = folder / (folder / "commondir").read_text(encoding="utf-8").strip()
    for file in (common / "config", folder / "config.worktree", folder / "index"):
        with contextlib.suppress(OSError):
            text = file.read_bytes()
            if file.name == "index":
                return _SUBMODULE in text
            if any(word in text.lower() for word in _TELLING):
                return True
    return False


class StatusQuery:
    """A running `git status`. The caller closes it."""

    def __init__(self, path: Path) -> None:
        self._pid: int | None = None
        self._output = -1
        folder = git_folder(path) if path.is_dir() else None
        if folder is None:
            return
        env = looking_environment(path, folder)
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
