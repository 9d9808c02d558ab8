"""Real git repositories with real worktrees."""

import subprocess
from pathlib import Path

_WHO = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main")


def git(folder: Path, *words: str) -> str:
    """Run git in a folder; gives what it prints."""
    done = subprocess.run(
        ["git", "-C", str(folder), *_WHO, *words], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def no_repository(folder: Path) -> Path:
    """Make sure that a folder is in no repository, whatever lies above it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".git").write_text("gitdir: /nowhere\n", "utf-8")
    return folder


def repository(folder: Path) -> Path:
    """Make a folder, with whatever is in it, a repository with one commit."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


def worktree(root: Path, folder: Path, branch: str) -> Path:
    """Add a worktree with a new branch."""
    git(root, "worktree", "add", "-q", "-b", branch, str(folder))
    return folder
