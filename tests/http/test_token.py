"""The token's file: made once, whole, and readable by its owner only."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from switchboard.core.faults import Fault
from switchboard.surface.http.token import bearer_token


def token_of(home: Path) -> str:
    return bearer_token(str(home), {})


def test_a_token_is_made_once_and_kept(tmp_path: Path) -> None:
    token = token_of(tmp_path / "deep" / "home")
    assert len(token) >= 32
    assert token_of(tmp_path / "deep" / "home") == token
    file = tmp_path / "deep" / "home" / "http-token"
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(file.parent.iterdir()) == [file]


def test_the_mask_of_the_process_does_not_open_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        token_of(tmp_path / "home")
    finally:
        os.umask(before)
    assert (tmp_path / "home" / "http-token").stat().st_mode & 0o777 == 0o600


def test_many_that_begin_at_once_agree(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        assert len(set(pool.map(token_of, [tmp_path / "home"] * 64))) == 1


def test_the_environment_wins(tmp_path: Path) -> None:
    assert bearer_token(str(tmp_path), {"SWITCHBOARD_TOKEN": "given"}) == "given"


@pytest.mark.parametrize("token", ["two words", "line\nbreak", "ümlaut"])
def test_a_token_must_fit_into_a_header(tmp_path: Path, token: str) -> None:
    with pytest.raises(Fault) as caught:
        bearer_token(str(tmp_path), {"SWITCHBOARD_TOKEN": token})
    assert caught.value.reason == "token-unusable"
    assert token not in str(caught.value)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("somebody-elses")
    (tmp_path / "http-token").symlink_to("secret")
    with pytest.raises(Fault) as caught:
        token_of(tmp_path)
    assert caught.value.reason == "token-unusable"


def test_a_file_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    token_of(tmp_path)
    (tmp_path / "http-token").chmod(0o644)
    with pytest.raises(Fault):
        token_of(tmp_path)


def test_an_empty_file_is_no_token(tmp_path: Path) -> None:
    file = tmp_path / "http-token"
    file.touch(0o600)
    with pytest.raises(Fault):
        token_of(tmp_path)


def test_a_folder_or_a_pipe_is_no_token(tmp_path: Path) -> None:
    (tmp_path / "one" / "http-token").mkdir(parents=True)
    (tmp_path / "two").mkdir()
    os.mkfifo(tmp_path / "two" / "http-token", 0o600)
    for home in ("one", "two"):
        with pytest.raises(Fault):
            token_of(tmp_path / home)
