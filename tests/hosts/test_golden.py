"""A file of each host before us, with us, after its host has written it anew, and without us.

The files are in `golden/<host>`: `before`, `after`, `rewritten` and `reverted`, and the names of
the servers that move behind us in `moved.txt`.
"""

import re
from pathlib import Path

import pytest

from hosts.ground import Ground, named, rewritten, servers_of, tree_of
from switchboard.hosts.change import OUR_NAME
from switchboard.hosts.host import Host
from switchboard.hosts.table import HOSTS

GOLDEN = Path(__file__).parent / "golden"
# Those of JSON, TOML and YAML; an address has slashes too.
_COMMENT = re.compile(r"/\*.*?\*/|(?:^|\s)(?://|#)\s*\S.*$", re.MULTILINE)


@pytest.fixture(params=[host.id for host in HOSTS])
def host(request: pytest.FixtureRequest) -> Host:
    return named(request.param)


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


def golden(host: Host, stage: str) -> bytes:
    return next((GOLDEN / host.id).glob(f"{stage}.*")).read_bytes()


def moved(host: Host) -> tuple[str, ...]:
    file = GOLDEN / host.id / "moved.txt"
    return tuple(file.read_text().split()) if file.exists() else ()


def test_our_entry_comes_in_and_nothing_else_of_the_file_changes(
    host: Host, ground: Ground
) -> None:
    path = ground.put(host, golden(host, "before"))
    assert [each.reason for each in ground.enter(host, moved(host))] == [""]
    assert path.read_bytes() == golden(host, "after")


def test_the_servers_that_stay_are_those_that_were_there(host: Host, ground: Ground) -> None:
    before, after = golden(host, "before"), golden(host, "after")
    found = ground.file(host)
    stayed = {
        name: each for name, each in servers_of(before, found).items() if name not in moved(host)
    }
    assert {**servers_of(after, found)} == {
        **stayed,
        OUR_NAME: servers_of(after, found)[OUR_NAME],
    }


def test_a_file_is_put_back_byte_for_byte(host: Host, ground: Ground) -> None:
    path = ground.put(host, golden(host, "before"))
    path.chmod(0o640)
    ground.enter(host, moved(host))
    assert [each.how for each in ground.take_back()] == ["whole"]
    assert path.read_bytes() == golden(host, "before")
    assert path.stat().st_mode & 0o777 == 0o640
    assert ground.take_back() == []


def test_a_second_time_changes_nothing(host: Host, ground: Ground) -> None:
    ground.put(host, golden(host, "before"))
    ground.enter(host, moved(host))
    assert not ground.change(host, moved(host)).is_needed
    assert ground.enter(host, moved(host)) == []


def test_a_file_that_its_host_wrote_anew_loses_our_part_alone(host: Host, ground: Ground) -> None:
    path = ground.put(host, golden(host, "before"))
    ground.enter(host, moved(host))
    anew = rewritten(path.read_bytes(), ground.file(host).file.form)
    assert anew == golden(host, "rewritten")
    path.write_bytes(anew)
    assert [each.how for each in ground.take_back()] == ["parts"]
    assert path.read_bytes() == golden(host, "reverted")
    form = ground.file(host).file.form
    assert tree_of(path.read_bytes(), form) == tree_of(golden(host, "before"), form)


def test_a_file_that_was_not_there_goes_with_its_folders(host: Host, ground: Ground) -> None:
    Path(ground.places.user_home).mkdir()
    assert [each.reason for each in ground.enter(host)] == [""]
    path = Path(ground.file(host).path)
    assert OUR_NAME in servers_of(path.read_bytes(), ground.file(host))
    assert [each.how for each in ground.take_back()] == ["whole"]
    assert [*Path(ground.places.user_home).iterdir()] == []


def test_comments_stay_where_a_file_may_have_some(host: Host, ground: Ground) -> None:
    before, after = golden(host, "before").decode(), golden(host, "after").decode()
    # One of them is empty, as hosts leave files.
    if ground.file(host).file.form != "json" and before:
        # Those of a server that moves go with it.
        assert [each for each in _COMMENT.findall(before) if each in after]


def test_every_host_has_its_golden_files() -> None:
    assert {each.name for each in GOLDEN.iterdir()} == {host.id for host in HOSTS}


def test_no_golden_file_has_a_place_of_a_machine() -> None:
    for file in GOLDEN.rglob("*.*"):
        text = file.read_text()
        assert "/home/" not in text
        assert "/work/" not in text
        assert "/tmp" not in text
