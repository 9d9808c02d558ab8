"""A process is killed at each of its writes. The record knows what to do, and nothing is lost."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hosts.ground import Ground, named
from hosts.killed import HOSTS

TESTS = Path(__file__).parents[1]
GOLDEN = Path(__file__).parent / "golden"
# More than there are; the last ones run to their end.
_MOST_WRITES = 60
_KILLED = -9


def before(name: str) -> bytes:
    return next((GOLDEN / name).glob("before.*")).read_bytes()


def files(ground: Ground) -> dict[str, bytes]:
    """Give everything in the user's home."""
    home = Path(ground.places.user_home)
    return {
        str(each.relative_to(home)): each.read_bytes() for each in home.rglob("*") if each.is_file()
    }


def prepared(root: Path) -> Ground:
    """Two hosts with a file, and one without."""
    ground = Ground(root)
    Path(ground.places.user_home).mkdir(parents=True)
    for name in HOSTS[:2]:
        ground.put(named(name), before(name))
    return ground


def was_killed(ground: Ground, verb: str, number: int, moment: str) -> bool:
    """Run it in a process of its own."""
    words = [sys.executable, "-m", "hosts.killed", str(ground.root), verb, str(number), moment]
    ran = subprocess.run(words, cwd=TESTS, capture_output=True, timeout=60, check=False)
    assert ran.returncode in {0, _KILLED}, ran.stderr
    lock = Path(f"{ground.file(named(HOSTS[0])).path}.lock")
    if lock.exists():
        # As it is some seconds later, when hosts take it for what it is.
        os.utime(lock, (0, 0))
    return ran.returncode == _KILLED


@pytest.mark.timeout(300)
@pytest.mark.parametrize("moment", ["before", "after"])
def test_whoever_is_killed_while_entering_leaves_what_can_be_taken_back(
    tmp_path: Path, moment: str
) -> None:
    for number in range(1, _MOST_WRITES):
        ground = prepared(tmp_path / str(number))
        original = files(ground)
        is_killed = was_killed(ground, "enter", number, moment)
        assert {each.how for each in ground.take_back()} <= {"whole"}
        assert files(ground) == original
        # Not even a folder, a lock or a draft is left.
        home = Path(ground.places.user_home)
        names = {each.name for each in home.rglob("*")}
        assert names == {".claude.json", ".codex", "config.toml"}
        assert ground.take_back() == []
        assert {each.name for each in (ground.root / "home").rglob("*")} == {
            *("hosts", "originals", "record.lock")
        }
        if not is_killed:
            break
    else:
        pytest.fail("there are more writes than were tried")
    assert number > 10


@pytest.mark.timeout(300)
@pytest.mark.parametrize("moment", ["before", "after"])
def test_whoever_is_killed_while_reverting_finishes_the_next_time(
    tmp_path: Path, moment: str
) -> None:
    for number in range(1, _MOST_WRITES):
        ground = prepared(tmp_path / str(number))
        original = files(ground)
        for name in HOSTS:
            assert [each.reason for each in ground.enter(named(name))] == [""]
        is_killed = was_killed(ground, "revert", number, moment)
        assert {each.how for each in ground.take_back()} <= {"whole"}
        assert files(ground) == original
        assert ground.take_back() == []
        if not is_killed:
            break
    else:
        pytest.fail("there are more writes than were tried")
    assert number > 6


def test_a_change_that_never_reached_its_file_is_forgotten(tmp_path: Path) -> None:
    ground = prepared(tmp_path)
    original = files(ground)
    # Two copies of each, the record, a lock; then the first file would follow.
    assert was_killed(ground, "enter", 7, "before")
    assert (tmp_path / "home/hosts/record.json").exists()
    assert files(ground).items() >= original.items()
    assert ground.take_back() == []
    assert files(ground) == original


def test_a_change_that_was_cut_off_is_made_the_second_time(tmp_path: Path) -> None:
    ground = prepared(tmp_path)
    assert was_killed(ground, "enter", 8, "before")
    for name in HOSTS:
        ground.enter(named(name))
        assert not ground.change(named(name)).is_needed


def test_two_processes_enter_one_after_the_other(tmp_path: Path) -> None:
    ground = prepared(tmp_path)
    original = files(ground)
    words = [sys.executable, "-m", "hosts.killed", str(tmp_path), "enter", "0", "before"]
    both = [subprocess.Popen(words, cwd=TESTS) for _ in range(2)]
    assert [each.wait(timeout=60) for each in both] == [0, 0]
    assert {each.how for each in ground.take_back()} == {"whole"}
    assert files(ground) == original
