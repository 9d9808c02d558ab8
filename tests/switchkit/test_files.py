"""Private folders and files refuse what is not ours; a file is replaced whole or not at all."""

import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from switchkit.files import (
    NotPrivate,
    check_private_file,
    make_folder,
    make_private_file,
    make_private_folder,
    open_private,
    replace_file,
    rotate,
)
from switchkit.locks import FileLock, is_locked, open_lock, try_lock


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def read(path: Path, *, mend: bool = True) -> bytes:
    handle = open_private(path, os.O_RDONLY, mend=mend)
    with os.fdopen(handle, "rb") as file:
        return file.read()


def test_every_folder_that_is_made_is_private(tmp_path: Path) -> None:
    make_private_folder(tmp_path / "a" / "b" / "c")
    assert [mode_of(tmp_path / each) for each in ("a", "a/b", "a/b/c")] == [0o700] * 3


def test_a_folder_that_others_may_enter_is_closed(tmp_path: Path) -> None:
    folder = tmp_path / "open"
    folder.mkdir(mode=0o755)
    make_folder(folder)
    assert mode_of(folder) == 0o755
    make_private_folder(folder)
    assert mode_of(folder) == 0o700


def test_a_link_is_no_private_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with pytest.raises(NotPrivate, match="link` is not a folder"):
        make_private_folder(tmp_path / "link")
    (tmp_path / "file").touch()
    with pytest.raises(NotPrivate, match="file` is not a folder"):
        make_private_folder(tmp_path / "file")


def test_a_folder_of_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "theirs").mkdir(mode=0o700)
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(NotPrivate) as caught:
        make_private_folder(tmp_path / "theirs")
    assert caught.value.what == f"`{tmp_path}/theirs`"
    assert caught.value.why == caught.value.strerror == f"belongs to user {tmp_path.stat().st_uid}"


def _link(path: Path) -> None:
    path.with_name("target").write_bytes(b"theirs")
    path.symlink_to("target")


def _second_name(path: Path) -> None:
    path.write_bytes(b"ours")
    path.with_name("second").hardlink_to(path)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (_link, "is a link"),
        (_second_name, "has a second name"),
        (os.mkfifo, "is not a plain file"),
        (os.mkdir, "is not a plain file"),
    ],
)
def test_what_is_not_a_plain_file_of_one_name_is_refused(
    tmp_path: Path, make: Callable[[Path], None], why: str
) -> None:
    path = tmp_path / "file"
    make(path)
    with pytest.raises(NotPrivate, match=why):
        open_private(path, os.O_RDONLY)
    with pytest.raises(NotPrivate, match=why):
        check_private_file(path)


def test_a_file_that_others_may_read_is_closed_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_bytes(b"x")
    path.chmod(0o644)
    with pytest.raises(NotPrivate, match="by other users"):
        read(path, mend=False)
    assert read(path) == b"x"
    assert mode_of(path) == 0o600
    assert read(path, mend=False) == b"x"
    path.chmod(0o640)
    check_private_file(path)
    assert mode_of(path) == 0o600


def test_a_file_is_made_once_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "file"
    made = make_private_file(path)
    path.write_bytes(b"kept")
    assert make_private_file(path).st_ino == made.st_ino
    assert path.read_bytes() == b"kept"
    assert mode_of(path) == 0o600


def test_a_file_that_is_not_there_is_not_called_foreign(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_private(tmp_path / "none", os.O_RDONLY)
    with pytest.raises(FileNotFoundError):
        check_private_file(tmp_path / "none")


def test_a_replaced_file_has_the_mode_asked_for_and_leaves_no_draft(tmp_path: Path) -> None:
    path = tmp_path / "file"
    replace_file(path, b"one")
    assert (path.read_bytes(), mode_of(path)) == (b"one", 0o600)
    replace_file(path, b"two", mode=0o664)
    assert (path.read_bytes(), mode_of(path)) == (b"two", 0o664)
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_replaced_and_not_written_through(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"theirs")
    link.symlink_to("target")
    replace_file(link, b"ours")
    assert target.read_bytes() == b"theirs"
    assert not link.is_symlink()


def test_a_replacement_that_fails_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    replace_file(path, b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        replace_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_log_moves_aside_and_older_ones_move_on(tmp_path: Path) -> None:
    log = tmp_path / "log"
    for text in (b"first", b"second", b"third"):
        log.write_bytes(text)
        assert rotate(log, 5, keep=2)
    assert not rotate(log, 5, keep=2)
    kept = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert kept == {"log.1": b"third", "log.2": b"second"}
    log.write_bytes(b"few")
    assert not rotate(log, 5)
    assert rotate(log, 3, keep=0)
    assert not log.exists()


def test_a_lock_is_seen_from_outside_and_ends_with_its_holder(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not is_locked(path)
    assert not path.exists()
    with FileLock(path):
        assert is_locked(path)
        other = open_lock(path)
        assert not try_lock(other)
    assert try_lock(other)
    assert is_locked(path)
    os.close(other)
    assert not is_locked(path)


def test_it_loads_nothing_that_a_shim_would_wait_for() -> None:
    program = (
        "import os, sys; b = {*sys.modules}; import switchkit.files; print({*sys.modules} - b)"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", program],
        env={"PYTHONPATH": str(Path(__file__).parents[2] / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(re.findall(r"[\w.]+", done.stdout))
    assert loaded == {"switchkit", "switchkit.files", "errno"}
