"""Hosts write their files too: before us, while we do, and after."""

import json
import os
import threading
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hosts.ground import Ground, named, rewritten, servers_of, tree_of
from hosts.texts import Written, json_texts, toml_texts, yaml_texts
from switchboard.hosts.applying import apply
from switchboard.hosts.change import OUR_NAME
from switchboard.hosts.edits.edit import read_tree
from switchboard.hosts.edits.trees import is_same, value_at
from switchboard.hosts.edits.unfit import UnfitFile
from switchboard.hosts.host import Host, ServersFile
from switchboard.hosts.host_lock import HostLock
from switchboard.hosts.table import HOSTS
from switchkit import files

CURSOR, CLAUDE, CLINE, CODEX, GOOSE = map(
    named, ("cursor", "claude-code", "cline", "codex", "goose")
)
BEFORE = b'{"mcpServers": {"notes": {"command": "npx"}, "github": {"url": "x"}}, "theme": "dark"}'


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


def said(path: Path) -> Any:
    return json.loads(path.read_bytes())


def test_a_file_that_its_host_has_written_since_stays_as_it_is(ground: Ground) -> None:
    path = ground.put(CURSOR, BEFORE)
    change = ground.change(CURSOR)
    path.write_bytes(b'{"mcpServers": {}}')
    with ground.record() as record:
        assert "has changed since it was read" in next(apply([change], record, 0.0)).reason
    assert path.read_bytes() == b'{"mcpServers": {}}'
    assert ground.take_back() == []


def test_a_file_that_has_come_or_gone_since_stays_as_it_is(ground: Ground) -> None:
    path = ground.put(CURSOR, BEFORE)
    change = ground.change(CURSOR)
    path.unlink()
    with ground.record() as record:
        assert "has changed" in next(apply([change], record, 0.0)).reason
    assert not path.exists()
    change = ground.change(CURSOR)
    path.write_bytes(BEFORE)
    with ground.record() as record:
        assert "has changed" in next(apply([change], record, 0.0)).reason
    assert path.read_bytes() == BEFORE


def test_a_host_that_writes_while_ours_comes_to_disk_is_not_written_over(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = ground.put(CURSOR, BEFORE)
    change = ground.change(CURSOR)
    real = os.fsync

    def fsync(handle: int) -> None:
        real(handle)
        if str(Path(f"/proc/self/fd/{handle}").readlink()).startswith(f"{path.parent}/.mcp.json"):
            path.write_bytes(b'{"mcpServers": {}, "of": "the host"}')

    with ground.record() as record:
        monkeypatch.setattr(files.os, "fsync", fsync)
        assert "has changed" in next(apply([change], record, 0.0)).reason
    assert said(path)["of"] == "the host"
    # Nor is a draft left beside it.
    assert [each.name for each in path.parent.iterdir()] == ["mcp.json"]


def test_what_a_host_adds_stays_when_we_are_taken_back(ground: Ground) -> None:
    path = ground.put(CURSOR, BEFORE)
    ground.enter(CURSOR, ("notes",))
    now = said(path)
    now["mcpServers"]["new"] = {"command": "new"}
    now["numStartups"] = 3
    path.write_text(json.dumps(now, indent="\t"))
    assert [each.how for each in ground.take_back()] == ["parts"]
    expected = json.loads(BEFORE)
    expected["mcpServers"]["new"] = {"command": "new"}
    assert said(path) == {**expected, "numStartups": 3}


def test_a_file_that_its_host_has_restored_has_nothing_of_ours(ground: Ground) -> None:
    path = ground.put(CURSOR, BEFORE)
    ground.enter(CURSOR, ("notes",))
    path.write_bytes(BEFORE)
    assert [each.how for each in ground.take_back()] == ["whole"]
    assert path.read_bytes() == BEFORE


def test_a_host_that_restored_an_older_file_keeps_it(ground: Ground) -> None:
    path = ground.put(CURSOR, BEFORE)
    ground.enter(CURSOR, ("notes",))
    path.write_bytes(b'{"mcpServers": {"notes": {"command": "older"}}}')
    assert [each.how for each in ground.take_back()] == ["parts"]
    assert said(path) == {"mcpServers": {"notes": {"command": "older"}}}


def test_a_file_that_its_host_took_away_is_not_made_again(ground: Ground) -> None:
    path = ground.put(CURSOR, BEFORE)
    ground.enter(CURSOR)
    path.unlink()
    assert [each.how for each in ground.take_back()] == ["parts"]
    assert not path.exists()


def test_a_file_that_its_host_emptied_is_told_and_comes_back_to_our_part_later(
    ground: Ground,
) -> None:
    path = ground.put(CURSOR, BEFORE)
    ground.enter(CURSOR, ("notes",))
    path.write_bytes(b'{"mcpServers"')
    assert [each.how for each in ground.take_back()] == ["kept"]
    path.write_bytes(b"")
    assert [each.how for each in ground.take_back()] == ["parts"]
    assert said(path) == {"mcpServers": {"notes": {"command": "npx"}}}


def test_an_entry_that_somebody_made_their_own_stays(ground: Ground) -> None:
    path = ground.put(CURSOR, BEFORE)
    ground.enter(CURSOR)
    now = said(path)
    now["mcpServers"][OUR_NAME] = {"command": "phones", "args": []}
    path.write_text(json.dumps(now))
    ground.take_back()
    assert said(path) == now


def test_a_file_that_we_made_goes_also_when_its_host_has_written_it(ground: Ground) -> None:
    Path(ground.places.user_home).mkdir()
    ground.enter(CURSOR)
    path = Path(ground.file(CURSOR).path)
    path.write_text(json.dumps(said(path)))
    assert [each.how for each in ground.take_back()] == ["whole"]
    assert not path.parent.exists()


def test_a_file_that_we_made_stays_with_what_its_host_put_into_it(ground: Ground) -> None:
    Path(ground.places.user_home).mkdir()
    ground.enter(CURSOR)
    path = Path(ground.file(CURSOR).path)
    path.write_text(json.dumps({**said(path), "theme": "dark"}))
    assert [each.how for each in ground.take_back()] == ["parts"]
    assert said(path) == {"theme": "dark"}


@pytest.mark.parametrize("host", [CLAUDE, CLINE], ids=["claude-code", "cline"])
def test_a_host_that_holds_its_lock_is_waited_for(ground: Ground, host: Host) -> None:
    path = ground.put(host, BEFORE)
    change = ground.change(host)
    lock = Path(f"{path}.lock")
    lock.mkdir()
    held: list[bytes] = []

    def let_go() -> None:
        held.append(path.read_bytes())
        lock.rmdir()

    later = threading.Timer(0.3, let_go)
    later.start()
    with ground.record() as record:
        assert [each.reason for each in apply([change], record, 0.0)] == [""]
    later.join()
    # Nothing was written as long as it was held.
    assert held == [BEFORE]
    assert path.read_bytes() == change.after
    assert not lock.exists()


def test_a_lock_of_a_host_that_was_killed_is_not_waited_for(ground: Ground) -> None:
    path = ground.put(CLINE, BEFORE)
    lock = Path(f"{path}.lock")
    lock.mkdir()
    os.utime(lock, (0, 0))
    assert [each.reason for each in ground.enter(CLINE)] == [""]
    assert not lock.exists()


def test_a_lock_that_is_never_let_go_ends_in_a_reason(tmp_path: Path) -> None:
    (tmp_path / "x.lock").mkdir()
    with (
        pytest.raises(BlockingIOError, match="is writing it just now"),
        HostLock(str(tmp_path / "x"), patience_s=0.1),
    ):
        pytest.fail("it is held by somebody else")


def survives(root: Path, host: Host, text: str, moved: tuple[str, ...]) -> None:
    """Enter us and take us back: byte for byte, and by structure when it was written anew."""
    ground = Ground(root)
    form = ground.file(host).file.form
    try:
        tree = read_tree(text, form)
    except UnfitFile:
        return
    path = ground.put(host, text.encode())
    assert [each.reason for each in ground.enter(host, moved)] == [""]
    assert OUR_NAME in servers_of(path.read_bytes(), ground.file(host))
    entered = path.read_bytes()
    assert [each.how for each in ground.take_back()] == ["whole"]
    assert path.read_bytes() == text.encode()
    ground.enter(host, moved)
    assert path.read_bytes() == entered
    if form != "toml":
        # A writer of TOML for tests knows no dates.
        path.write_bytes(rewritten(entered, form))
        assert [each.how for each in ground.take_back()] == ["parts"]
        assert is_same(tree_of(path.read_bytes(), form), tree)


def names_in(text: str, host: Host, ground: Ground) -> tuple[str, ...]:
    found = ground.file(host).file
    try:
        there = value_at(read_tree(text, found.form), found.servers)
    except UnfitFile:
        return ()
    return tuple(cast("dict[str, Any]", there))[:1] if isinstance(there, dict) else ()


_SLOW = settings(
    max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


@pytest.mark.parametrize("host", [each.id for each in HOSTS])
@given(data=st.data())
@_SLOW
def test_any_file_of_a_host_survives_us(
    tmp_path_factory: pytest.TempPathFactory, host: str, data: st.DataObject
) -> None:
    ground = Ground(tmp_path_factory.mktemp("g"))
    known = named(host)
    written = data.draw(_texts(ground.file(known).file))
    survives(ground.root, known, written.text, names_in(written.text, known, ground))


def _texts(file: ServersFile) -> st.SearchStrategy[Written]:
    """Whatever its host could read."""
    if file.form == "toml":
        return toml_texts()
    if file.form == "yaml":
        return yaml_texts()
    return json_texts(file.servers, has_comments=file.form == "jsonc")
