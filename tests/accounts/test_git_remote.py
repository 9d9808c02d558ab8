"""The remote of a repository, read without git and without trust in what is read."""

import os
import subprocess
from pathlib import Path

import pytest

from switchboard.children.accounts.git_remote import normalised, remote_of


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/Acme/Web.git",
        "https://github.com/acme/web",
        "https://github.com:443//acme/web/",
        "https://bob:canary-token@github.com/acme/web.git?x=1#y",
        "http://github.com/acme/web",
        "git@github.com:acme/web.git",
        "github.com:/acme/web",
        "ssh://git@github.com/acme/web.git",
        "ssh://git@github.com:22/acme/web.git",
        "git+ssh://git@GITHUB.com/acme/web",
        "git://github.com/acme/web",
    ],
)
def test_every_way_to_write_an_address_is_one(url: str) -> None:
    assert normalised(url) == "github.com/acme/web"


@pytest.mark.parametrize(
    ("url", "is_read_as"),
    [
        ("ssh://git@host:2222/acme/web", "host:2222/acme/web"),
        ("git@[::1]:acme/web", "[::1]/acme/web"),
        ("https://gitlab.com/acme/sub/web.git", "gitlab.com/acme/sub/web"),
        ("", ""),
        ("/srv/git/web.git", ""),
        ("../web", ""),
        ("./a:b", ""),
        ("file:///srv/git/web.git", ""),
        ("ext::sh -c 'touch x' github.com/acme/web", ""),
        ("https://github.com/", ""),
        ("https://evil.example/../github.com/acme/web", ""),
        ("git@github.com:acme/../../web", ""),
        ("https://github.com/acme/we b", ""),
        ("https://github.com/acme/we\u202eb", ""),
        ("https://github.com\\@evil.example/acme", ""),
        ("https://evil.example?@github.com/acme/web", ""),
        ("https://evil.example#@github.com/acme/web", ""),
        ("https://evil.example:80?@github.com/acme/web", ""),
        ("git@evil.example?@github.com:acme/web", ""),
    ],
)
def test_what_is_local_or_strange_is_no_remote(url: str, is_read_as: str) -> None:
    assert normalised(url) == is_read_as


def repository(folder: Path, config: str) -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config").write_text(config)
    return folder


def git(*words: str, cwd: Path) -> None:
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    env |= {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a"}
    command = ["git", *words]
    subprocess.run(command, cwd=cwd, env={**env, "GIT_COMMITTER_EMAIL": "a@b"}, check=True)


def test_what_git_writes_is_read_also_from_worktrees_and_folders(tmp_path: Path) -> None:
    main, tree = tmp_path / "main", tmp_path / "tree"
    main.mkdir()
    git("init", "-q", cwd=main)
    git("remote", "add", "upstream", "https://github.com/other/web", cwd=main)
    assert remote_of(str(main)) == "github.com/other/web"
    git("remote", "add", "origin", "git@github.com:acme/web.git", cwd=main)
    git("commit", "-q", "--allow-empty", "-m", "x", cwd=main)
    git("worktree", "add", "-q", str(tree), cwd=main)
    below = tree / "a" / "b"
    below.mkdir(parents=True)
    assert remote_of(str(main)) == "github.com/acme/web"
    assert remote_of(str(below)) == "github.com/acme/web"
    assert remote_of(str(tmp_path)) == ""


@pytest.mark.parametrize(
    ("config", "found"),
    [
        ('[remote "origin"]\n\turl = git@github.com:acme/web # mine\n', "github.com/acme/web"),
        ('[Remote "origin"] URL = "https://github.com/acme/web"\n', "github.com/acme/web"),
        ("[remote.origin]\nurl=https://github.com/acme/web\n", "github.com/acme/web"),
        ('[remote "origin"]\nurl = https://github.com/\\\nacme/web\n', "github.com/acme/web"),
        ('[remote "origin"]\nurl = https://a.b/c/d\nurl = https://e.f/g/h\n', "a.b/c/d"),
        ('[remote "a"]\nurl = https://a.b/c\n[remote "d"]\nurl = https://e.f/g\n', ""),
        ('[remote "origin"]\npushurl = https://a.b/c\n', ""),
        ('[core]\nurl = https://a.b/c\n[remote "origin"]\n', ""),
        ("[include]\npath = elsewhere\n", ""),
        ("\x00\xff[[[", ""),
        ("", ""),
    ],
)
def test_settings_of_a_repository_are_read_as_git_reads_them(
    tmp_path: Path, config: str, found: str
) -> None:
    (tmp_path / "elsewhere").write_text('[remote "origin"]\nurl = https://a.b/c\n')
    assert remote_of(str(repository(tmp_path / "r", config))) == found


def test_nothing_in_a_repository_holds_us_or_runs(tmp_path: Path) -> None:
    piped = tmp_path / "piped"
    (piped / ".git").mkdir(parents=True)
    os.mkfifo(piped / ".git" / "config")
    assert remote_of(str(piped)) == ""
    pointing = tmp_path / "pointing"
    pointing.mkdir()
    os.mkfifo(pointing / ".git")
    assert remote_of(str(pointing)) == ""
    large = repository(tmp_path / "large", "#" * (2 << 20) + '\n[remote "origin"]\nurl=a:b\n')
    assert remote_of(str(large)) == ""
    hooked = f'[core]\nfsmonitor = touch {tmp_path}/ran\n[remote "origin"]\nurl = a.b:c\n'
    assert remote_of(str(repository(tmp_path / "hooked", hooked))) == "a.b/c"
    assert not (tmp_path / "ran").exists()


def test_a_repository_of_another_user_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = repository(tmp_path / "r", '[remote "origin"]\nurl = a.b:c\n')
    assert remote_of(str(made)) == "a.b/c"
    owner = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    assert remote_of(str(made)) == ""
