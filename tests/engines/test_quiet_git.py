"""Git starts nothing that only a repository names, and everything that its user does."""

import os
import subprocess
from pathlib import Path

import pytest

from switchboard.engines.quiet_git import with_quiet_git

LARGE = {
    "filter.lfs.clean": "git-lfs clean -- %f",
    "filter.lfs.smudge": "git-lfs smudge -- %f",
    "filter.lfs.process": "git-lfs filter-process",
    "filter.lfs.required": "true",
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    made = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", str(made)], check=True)
    return made


def env_of(tmp_path: Path) -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": str(tmp_path)}


def config(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(folder), "config", *words], check=True)


def value_of(name: str, folder: Path, env: dict[str, str]) -> str:
    """What git takes a setting for in this environment."""
    words = ["git", "-C", str(folder), "config", name]
    return subprocess.run(words, env=env, capture_output=True, text=True, check=False).stdout[:-1]


PLACES = {
    "core.fsmonitor": "false",
    "filter.evil.clean": "",
    "filter.evil.smudge": "",
    "filter.evil.process": "",
    "filter.Evil.With.Dots.clean": "",
    "diff.evil.textconv": "cat",
    "diff.evil.command": "false",
    "diff.external": "false",
    "log.showSignature": "false",
}


@pytest.mark.parametrize("name", PLACES)
def test_what_a_repository_names_is_not_started(
    tmp_path: Path, repository: Path, name: str
) -> None:
    config(repository, name, "true" if name == "log.showSignature" else "touch it-ran")
    quiet = with_quiet_git(env_of(tmp_path), str(repository))
    assert value_of(name, repository, quiet) == PLACES[name]
    deeper = repository / "deep"
    deeper.mkdir()
    assert value_of(name, repository, with_quiet_git(env_of(tmp_path), str(deeper))) == PLACES[name]


def test_a_file_that_the_repository_includes_counts_as_its_own(
    tmp_path: Path, repository: Path
) -> None:
    (repository / "more").write_text('[filter "evil"]\n\tclean = touch it-ran\n', "utf-8")
    config(repository, "include.path", "../more")
    quiet = with_quiet_git(env_of(tmp_path), str(repository))
    assert value_of("filter.evil.clean", repository, quiet) == ""


def test_what_the_user_set_and_large_files_stay(tmp_path: Path, repository: Path) -> None:
    env = env_of(tmp_path)
    (tmp_path / ".gitconfig").write_text('[filter "mine"]\n\tclean = mine\n', "utf-8")
    for name, value in LARGE.items():
        config(repository, name, value)
    quiet = with_quiet_git(env, str(repository))
    assert value_of("filter.mine.clean", repository, quiet) == "mine"
    assert {name: value_of(name, repository, quiet) for name in LARGE} == LARGE


def test_what_only_looks_like_large_files_does_not(tmp_path: Path, repository: Path) -> None:
    config(repository, "filter.lfs.clean", "git-lfs clean -- %f; touch it-ran")
    quiet = with_quiet_git(env_of(tmp_path), str(repository))
    assert value_of("filter.lfs.clean", repository, quiet) == ""


def test_settings_of_the_environment_are_kept(tmp_path: Path, repository: Path) -> None:
    given = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "x.y", "GIT_CONFIG_VALUE_0": "z"}
    quiet = with_quiet_git({**env_of(tmp_path), **given}, str(repository))
    assert value_of("x.y", repository, quiet) == "z"
    assert value_of("core.fsmonitor", repository, quiet) == "false"


@pytest.mark.parametrize("is_declared", [True, False])
def test_nothing_that_a_submodule_names_is_started(
    tmp_path: Path, repository: Path, is_declared: bool
) -> None:
    """Git looks into submodules by itself, and each has settings of its own."""
    env = env_of(tmp_path)
    outer, inner, ran = tmp_path / "outer", repository / "inner", tmp_path / "it-ran"
    for folder in (inner, outer):
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
    for folder, added in ((inner, "file"), (repository, "inner"), (outer, "repository")):
        if added == "file":
            (folder / "file").write_text("text", "utf-8")
            (folder / ".gitattributes").write_text("* filter=evil\n", "utf-8")
        elif not (folder / added).exists():
            repository.rename(folder / added)
        words = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run([*words, "-c", "advice.addEmbeddedRepo=false", "add", "."], check=True)
        subprocess.run([*words, "commit", "-q", "-m", "one"], check=True)
    deepest = outer / "repository" / "inner"
    if is_declared:
        declared = '[submodule "repository"]\n\tpath = repository\n\turl = ./x\n\tignore = none\n'
        (outer / ".gitmodules").write_text(declared, "utf-8")
    config(deepest, "filter.evil.clean", f"touch {ran}; cat")
    # Only its content tells whether it was changed.
    (deepest / "file").write_text("tixt", "utf-8")
    status = ["git", "-C", str(outer), "status", "--porcelain"]
    told = subprocess.run(status, env=with_quiet_git(env, str(outer)), stdout=-1, check=True).stdout
    assert b"M repository" in told
    assert not ran.exists()
    # It would be, otherwise.
    (deepest / "file").write_text("text", "utf-8")
    subprocess.run(status, env=env, stdout=-1, check=True)
    assert ran.exists()


def test_a_folder_without_a_repository_and_a_machine_without_git_are_fine(tmp_path: Path) -> None:
    without = {"PATH": str(tmp_path)}
    assert with_quiet_git(without, str(tmp_path))["GIT_CONFIG_COUNT"] == "2"
    assert with_quiet_git(env_of(tmp_path), str(tmp_path))["GIT_CONFIG_COUNT"] == "2"


def committed(repository: Path) -> None:
    (repository / "tracked.txt").write_text("one\n", "utf-8")
    git = ["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "one"], check=True)


@pytest.mark.parametrize("words", [("status",), ("diff",), ("diff", "HEAD"), ("log", "--stat")])
def test_an_object_that_is_missing_is_fetched_by_no_program_of_the_repository(
    tmp_path: Path, repository: Path, words: tuple[str, ...]
) -> None:
    committed(repository)
    told = subprocess.run(
        ["git", "-C", str(repository), "rev-parse", "HEAD^{tree}"],
        capture_output=True,
        text=True,
        check=True,
    )
    tree = told.stdout.strip()
    (repository / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    ran = tmp_path / "ran"
    for name, value in {
        "core.repositoryformatversion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": "ssh://x/y",
        "core.sshCommand": f"touch {ran}; false",
    }.items():
        config(repository, name, value)
    quiet = with_quiet_git(env_of(tmp_path), str(repository))
    subprocess.run(["git", *words], cwd=repository, env=quiet, check=False, capture_output=True)
    assert not ran.exists()


@pytest.mark.parametrize("words", [("status",), ("diff",)])
def test_whoever_only_looks_starts_no_hook(
    tmp_path: Path, repository: Path, words: tuple[str, ...]
) -> None:
    """A file that is as it was, but looks newer, has git write its index anew."""
    committed(repository)
    ran = tmp_path / "ran"
    hook = repository / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n", "utf-8")
    hook.chmod(0o755)
    os.utime(repository / "tracked.txt", (1, 1))
    quiet = with_quiet_git(env_of(tmp_path), str(repository))
    subprocess.run(["git", *words], cwd=repository, env=quiet, check=True, capture_output=True)
    assert not ran.exists()
    # Without our settings it does, or this would prove nothing.
    plain = env_of(tmp_path)
    subprocess.run(["git", *words], cwd=repository, env=plain, check=True, capture_output=True)
    assert ran.exists()
