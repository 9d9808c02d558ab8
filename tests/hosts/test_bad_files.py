"""Files that are not what they should be: nothing is lost, and a reason is given."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hosts.ground import Ground, named, servers_of
from switchboard.hosts.applying import apply, revert
from switchboard.hosts.change import OUR_NAME, changed
from switchboard.hosts.edits.edit import MAX_BYTES
from switchboard.hosts.edits.unfit import UnfitFile
from switchboard.hosts.record import RecordDamaged, digest

TESTS = Path(__file__).parents[1]
CURSOR, CLAUDE, CODEX, GOOSE = map(named, ("cursor", "claude-code", "codex", "goose"))
BEFORE = b'{\n  "mcpServers": {\n    "notes": { "command": "npx" }\n  }\n}\n'
# A disk of a few pages with a home on it, filled to the last byte; then room is made.
TINY_DISK = """
mount -t tmpfs -o size=400k,mode=700 none "$1" || exit 99
mkdir "$1/user" && cp "$3" "$1/user/.claude.json" || exit 98
dd if=/dev/zero of="$1/ballast" bs=1k 2>/dev/null
cat "$1/ballast" > /dev/null
cd "$4"
"$2" -m hosts.on_tiny_disk "$1" full || exit 1
cmp "$3" "$1/user/.claude.json" || exit 2
rm "$1/ballast"
"$2" -m hosts.on_tiny_disk "$1" room || exit 3
cmp "$3" "$1/user/.claude.json" || exit 4
ls -A "$1/user"
"""


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    yield Ground(tmp_path)
    for each in tmp_path.rglob("*"):
        if not each.is_symlink():
            each.chmod(0o700)


@pytest.mark.parametrize(
    ("host", "raw", "problem"),
    [
        ("claude-code", b'{"mcpServers": {} // mine\n}', ":1:19: JSON has no comments"),
        ("claude-code", b'{"mcpServers": {},}', "expected a key"),
        ("cursor", b'{"mcpServers": []}', "`mcpServers` is not an object"),
        ("cursor", b'{"mcpServers": "x"}', "`mcpServers` is not an object"),
        ("cursor", b"[1]", "does not hold an object"),
        ("cursor", b'{\n "a": "\xff"}', ":2: the file is not UTF-8"),
        ("codex", b"mcp_servers = 3\n", "`mcp_servers` is not an object"),
        ("codex", b'[mcp_servers.a]\ncommand = "x\n', ":2:"),
        ("codex", b"[a]\n[a]\n", "not valid TOML"),
        ("goose", b"extensions:\n\t- x\n", ":2:1"),
        ("goose", b"extensions: 5\n", "`extensions` is not an object"),
    ],
)
def test_a_file_that_its_host_could_not_read_is_told_with_its_place(
    ground: Ground, host: str, raw: bytes, problem: str
) -> None:
    path = ground.put(named(host), raw)
    found = ground.file(named(host))
    assert problem in found.problem
    assert found.problem.startswith(str(path))
    assert found.servers == ()
    with pytest.raises(UnfitFile):
        ground.change(named(host))
    assert path.read_bytes() == raw


def test_a_value_that_says_nothing_is_room_for_us(ground: Ground) -> None:
    path = ground.put(CURSOR, b'{ "mcpServers": null }')
    ground.enter(CURSOR)
    assert [*servers_of(path.read_bytes(), ground.file(CURSOR))] == [OUR_NAME]
    ground.take_back()
    assert path.read_bytes() == b'{ "mcpServers": null }'


def test_a_link_stays_and_what_it_leads_to_is_written(ground: Ground) -> None:
    dotfiles = ground.root / "dotfiles"
    dotfiles.mkdir()
    (dotfiles / "cursor.json").write_bytes(BEFORE)
    link = Path(ground.file(CURSOR).path)
    link.parent.mkdir(parents=True)
    link.symlink_to("../../dotfiles/cursor.json")
    assert [each.reason for each in ground.enter(CURSOR)] == [""]
    assert str(link.readlink()) == "../../dotfiles/cursor.json"
    assert OUR_NAME in json.loads((dotfiles / "cursor.json").read_bytes())["mcpServers"]
    assert [each.how for each in ground.take_back()] == ["whole"]
    assert link.is_symlink()
    assert (dotfiles / "cursor.json").read_bytes() == BEFORE


def test_a_link_that_its_host_has_replaced_by_a_file_is_cleaned_at_both_ends(
    ground: Ground,
) -> None:
    dotfiles = ground.root / "dotfiles.json"
    dotfiles.write_bytes(BEFORE)
    link = Path(ground.file(CURSOR).path)
    link.parent.mkdir(parents=True)
    link.symlink_to(dotfiles)
    ground.enter(CURSOR)
    raw = link.read_bytes()
    link.unlink()
    link.write_bytes(json.dumps(json.loads(raw)).encode())
    assert [each.how for each in ground.take_back()] == ["parts"]
    assert dotfiles.read_bytes() == BEFORE
    assert json.loads(link.read_bytes()) == json.loads(BEFORE)


def test_a_link_that_leads_elsewhere_by_now_is_not_followed(ground: Ground) -> None:
    one, other = ground.root / "one.json", ground.root / "other.json"
    one.write_bytes(BEFORE)
    other.write_bytes(BEFORE)
    link = Path(ground.file(CURSOR).path)
    link.parent.mkdir(parents=True)
    link.symlink_to(one)
    change = ground.change(CURSOR)
    link.unlink()
    link.symlink_to(other)
    with ground.record() as record:
        assert "leads elsewhere" in next(apply([change], record, 0.0)).reason
    assert one.read_bytes() == other.read_bytes() == BEFORE


def test_a_file_that_a_link_leads_to_since_is_left_alone(ground: Ground) -> None:
    one, other = ground.root / "one.json", ground.root / "other.json"
    one.write_bytes(BEFORE)
    other.write_bytes(b'{"mcpServers": {}}')
    link = Path(ground.file(CURSOR).path)
    link.parent.mkdir(parents=True)
    link.symlink_to(one)
    ground.enter(CURSOR, ("notes",))
    link.unlink()
    link.symlink_to(other)
    assert [each.how for each in ground.take_back()] == ["whole"]
    assert one.read_bytes() == BEFORE
    assert other.read_bytes() == b'{"mcpServers": {}}'


def test_a_link_that_leads_in_a_circle_is_told(ground: Ground) -> None:
    link = Path(ground.file(CURSOR).path)
    link.parent.mkdir(parents=True)
    link.symlink_to(link)
    assert "cannot be read" in ground.file(CURSOR).problem


def test_a_read_only_file_stays_as_it_is(ground: Ground) -> None:
    path = ground.put(CURSOR, BEFORE)
    path.chmod(0o444)
    assert [each.reason for each in ground.enter(CURSOR)] == ["it is read-only"]
    assert path.read_bytes() == BEFORE
    assert ground.take_back() == []


def test_a_file_that_became_read_only_keeps_its_record_until_it_can_be_put_back(
    ground: Ground,
) -> None:
    path = ground.put(CURSOR, BEFORE)
    ground.enter(CURSOR)
    path.chmod(0o444)
    assert [(each.how, each.reason) for each in ground.take_back()] == [("kept", "it is read-only")]
    path.chmod(0o644)
    assert [each.how for each in ground.take_back()] == ["whole"]
    assert path.read_bytes() == BEFORE
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_file_of_another_user_stays_as_it_is(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = ground.put(CURSOR, BEFORE)
    me = os.geteuid()
    change = ground.change(CURSOR)
    with ground.record() as record:
        monkeypatch.setattr(os, "geteuid", lambda: me + 1)
        assert [each.reason for each in apply([change], record, 0.0)] == [
            "it belongs to another user"
        ]
    assert path.read_bytes() == BEFORE


def test_a_pipe_or_a_folder_in_the_place_of_a_file_holds_nobody_up(ground: Ground) -> None:
    path = Path(ground.file(CURSOR).path)
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    assert "not a plain file" in ground.file(CURSOR).problem
    path.unlink()
    path.mkdir()
    assert "not a plain file" in ground.file(CURSOR).problem
    path.rmdir()
    # One that comes between reading and writing.
    change = ground.change(CURSOR)
    os.mkfifo(path)
    with ground.record() as record:
        assert "not a plain file" in next(apply([change], record, 0.0)).reason
    assert ground.take_back() == []


def test_a_pipe_in_the_place_of_a_file_of_ours_does_not_hold_up_the_record(ground: Ground) -> None:
    path = ground.put(CURSOR, BEFORE)
    ground.enter(CURSOR)
    path.unlink()
    os.mkfifo(path)
    assert [each.how for each in ground.take_back()] == ["kept"]
    path.unlink()
    assert [each.how for each in ground.take_back()] == ["parts"]


def test_a_huge_file_is_not_read_to_its_end(ground: Ground) -> None:
    path = ground.put(CURSOR, b"")
    os.truncate(path, 64 << 20)
    found = ground.file(CURSOR)
    assert f"larger than {MAX_BYTES >> 20} MB" in found.problem
    with pytest.raises(UnfitFile, match="larger than"):
        ground.change(CURSOR)


def test_a_history_of_megabytes_is_changed_all_the_same(ground: Ground) -> None:
    history = [{"display": "x" * 100, "pastedContents": {"n": number}} for number in range(40_000)]
    raw = json.dumps({"projects": {"work": {"history": history}}, "mcpServers": {}}, indent=2)
    path = ground.put(CLAUDE, raw.encode())
    assert [each.reason for each in ground.enter(CLAUDE)] == [""]
    assert [each.how for each in ground.take_back()] == ["whole"]
    assert path.read_bytes() == raw.encode()


def test_a_key_that_comes_twice_counts_where_it_comes_last(ground: Ground) -> None:
    raw = b'{"mcpServers": {"old": {}}, "mcpServers": {"notes": {}, "notes": {"command": "x"}}}'
    path = ground.put(CURSOR, raw)
    ground.enter(CURSOR, ("notes",))
    assert path.read_bytes().startswith(b'{"mcpServers": {"old": {}}, "mcpServers": {')
    assert [*servers_of(path.read_bytes(), ground.file(CURSOR))] == [OUR_NAME]
    ground.take_back()
    assert path.read_bytes() == raw


def test_what_has_no_bytes_in_utf_8_comes_back_as_it_was_written(ground: Ground) -> None:
    raw = b'{"mcpServers": {"odd": {"command": "\\ud800"}}, "x": 1}'
    path = ground.put(CURSOR, raw)
    ground.enter(CURSOR, ("odd",))
    path.write_bytes(json.dumps(json.loads(path.read_bytes()), indent=1).encode())
    assert [each.how for each in ground.take_back()] == ["parts"]
    assert json.loads(path.read_bytes()) == json.loads(raw)


def test_another_server_of_our_name_is_not_written_over(ground: Ground) -> None:
    raw = b'{"mcpServers": {"switchboard": {"command": "node", "args": ["phones.js"]}}}'
    path = ground.put(CURSOR, raw)
    with pytest.raises(UnfitFile, match="another server named `switchboard`"):
        ground.change(CURSOR)
    assert path.read_bytes() == raw


def test_an_entry_of_ours_that_was_there_before_us_comes_back(ground: Ground) -> None:
    raw = b'{"mcpServers": {"switchboard": {"command": "old/bin/switchboard", "args": ["mcp"]}}}'
    path = ground.put(CURSOR, raw)
    ground.enter(CURSOR)
    path.write_bytes(json.dumps(json.loads(path.read_bytes()), indent=3).encode())
    assert [each.how for each in ground.take_back()] == ["parts"]
    assert json.loads(path.read_bytes()) == json.loads(raw)


def test_a_record_or_a_copy_that_is_damaged_is_never_taken_for_good(ground: Ground) -> None:
    path = ground.put(CURSOR, BEFORE)
    ground.enter(CURSOR)
    after = path.read_bytes()
    kept = ground.root / "home/hosts/originals" / digest(BEFORE)
    kept.write_bytes(b"{}")
    assert [(each.how, each.reason) for each in ground.take_back()] == [
        ("kept", "the copy that was kept of it is damaged")
    ]
    assert path.read_bytes() == after
    kept.write_bytes(BEFORE)
    (ground.root / "home/hosts/record.json").write_bytes(b"[]")
    with pytest.raises(RecordDamaged):
        ground.take_back()


def test_a_folder_that_cannot_be_made_is_a_reason(ground: Ground) -> None:
    (ground.root / "user").mkdir()
    (ground.root / "user/.cursor").write_text("a file, where a folder should be")
    assert "where its folder should be" in ground.enter(CURSOR)[0].reason
    assert ground.take_back() == []


def test_one_file_that_cannot_be_written_holds_up_no_other(ground: Ground) -> None:
    first, second = ground.put(CURSOR, BEFORE), ground.put(CODEX, b"")
    first.chmod(0o444)
    changes = [ground.change(CURSOR), ground.change(CODEX)]
    with ground.record() as record:
        assert [bool(each.reason) for each in apply(changes, record, 0.0)] == [True, False]
    assert b"switchboard" in second.read_bytes()
    assert [each.host for each in ground.take_back()] == ["codex"]


def test_whoever_stops_listening_leaves_the_rest_as_it_was(ground: Ground) -> None:
    first, second = ground.put(CURSOR, BEFORE), ground.put(CODEX, b"# mine\n")
    changes = [ground.change(CURSOR), ground.change(CODEX)]
    with ground.record() as record:
        assert next(apply(changes, record, 0.0)).reason == ""
    assert second.read_bytes() == b"# mine\n"
    assert [each.host for each in ground.take_back()] == ["cursor"]
    assert first.read_bytes() == BEFORE


def test_hosts_are_reverted_one_by_one(ground: Ground) -> None:
    ground.put(CURSOR, BEFORE)
    ground.put(CODEX, b"")
    ground.enter(CURSOR)
    ground.enter(CODEX)
    assert [each.host for each in ground.take_back("codex")] == ["codex"]
    assert [each.host for each in ground.take_back()] == ["cursor"]


def test_no_change_of_a_file_is_taken_back_before_those_after_it(ground: Ground) -> None:
    path = ground.put(CURSOR, BEFORE)
    ground.enter(CURSOR)
    found = ground.file(CURSOR)
    newer = changed(
        found.place, found.raw, {OUR_NAME: {"command": "switchboard", "args": ["mcp", "-x"]}}
    )
    with ground.record() as record:
        assert [each.reason for each in apply([newer], record, 1.0)] == [""]
        # What the newer one would put back cannot be read.
        assert found.raw is not None
        kept = ground.root / "home/hosts/originals" / digest(found.raw)
        kept.write_bytes(b"damaged")
        assert [each.how for each in revert(record)] == ["kept", "kept"]
        assert path.read_bytes() == newer.after
        kept.write_bytes(found.raw)
        assert [each.how for each in revert(record)] == ["whole", "whole"]
    assert path.read_bytes() == BEFORE


def test_a_disk_without_room_changes_nothing_and_loses_nothing(tmp_path: Path) -> None:
    disk, before = tmp_path / "disk", tmp_path / "before.json"
    disk.mkdir()
    before.write_bytes(BEFORE)
    words = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", TINY_DISK, "sh"]
    ran = subprocess.run(
        [*words, str(disk), sys.executable, str(before), str(TESTS)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr + ran.stdout
    assert ran.stdout.split() == [".claude.json"]
