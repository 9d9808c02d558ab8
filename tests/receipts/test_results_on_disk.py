"""What is kept of calls is private, bounded, without secrets, and gone after a while."""

import os
import stat
import time
from pathlib import Path

import msgspec
import pytest
from msgspec import Raw

from receipts.ground import Post, begin, client_of, killed
from support.processes import until_true
from switchboard.core.calls.call import Outcome, TextBlock
from switchboard.core.calls.clock import Clock
from switchboard.core.calls.receipts import KeptOutcome, Receipt
from switchboard.core.catalog.tools import ToolSpec
from switchboard.core.sessions import Session
from switchboard.receipts import result_files
from switchboard.receipts.kept import kept_from
from switchboard.receipts.result_files import MOST_RESULT_BYTES, ResultFiles
from switchboard.surface.results import result_bytes

SECRET = "canary-of-a-post-2236"
HOUR_S = 3600.0


@pytest.fixture(name="files")
def folder(tmp_path: Path) -> ResultFiles:
    tmp_path.chmod(0o700)
    files = ResultFiles(str(tmp_path))
    files.keep_s = HOUR_S
    return files


def kept(number: int, result: bytes = b'{"content":[]}', until: float = HOUR_S) -> KeptOutcome:
    now = time.time()
    return KeptOutcome(
        id=f"abc-{number}",
        session="abc",
        tool="post",
        came_at=now,
        ended_at=now,
        until=now + until,
        status="ok",
        result=Raw(result),
        size=len(result),
    )


def test_one_is_a_file_that_only_its_owner_reads(files: ResultFiles, tmp_path: Path) -> None:
    assert files.put(kept(1))
    folder = tmp_path / "results"
    (file,) = folder.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    found = files.get("abc-1")
    assert found is not None
    assert found.result == Raw(b'{"content":[]}')


def test_of_too_many_the_oldest_are_let_go(
    files: ResultFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(result_files, "MOST_RESULTS", 3)
    for number in range(5):
        assert files.put(kept(number))
        _make_older(files, number, 5 - number)
    assert [each.id for each in files.all()] == ["abc-2", "abc-3", "abc-4"]


def test_of_too_much_the_oldest_is_let_go(
    files: ResultFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(result_files, "MOST_BYTES", 5_000)
    for number in range(3):
        assert files.put(kept(number, b'"%b"' % (b"x" * 2_000)))
        _make_older(files, number, 3 - number)
    assert [each.id for each in files.all()] == ["abc-1", "abc-2"]


def test_what_is_over_is_not_told_and_goes_when_somebody_looks(files: ResultFiles) -> None:
    for number, until in ((1, -1.0), (2, -1.0), (3, HOUR_S)):
        assert files.put(kept(number, until=until))
    # As a command does where no daemon runs, which knows nothing of the configuration.
    reader = ResultFiles(files.home)
    assert reader.get("abc-1") is None
    assert [each.id for each in reader.all()] == ["abc-3"]
    assert len(list((Path(files.home) / "results").iterdir())) == 1


def test_who_keeps_nothing_any_more_lets_go_of_all(files: ResultFiles) -> None:
    assert files.put(kept(1))
    _make_older(files, 1, 1)
    files.keep_s = 0.0
    assert files.tidy() == 0
    assert files.get("abc-1") is None


@pytest.mark.parametrize("name", ["../abc-1", "abc-1/..", "", "abc", "/etc/passwd"])
def test_no_name_leads_out_of_the_folder(files: ResultFiles, name: str) -> None:
    assert not files.put(msgspec.structs.replace(kept(1), id=name))
    assert files.get(name) is None


@pytest.mark.parametrize("letter", ["x", "\n"])
def test_a_larger_result_is_not_kept_only_what_became_of_its_call(letter: str) -> None:
    session = Session(id="abc", via="stdio", workspace="/workspace")
    tool = ToolSpec(name="post", provider="p")
    receipt = Receipt("abc-1", session, tool, None, Clock(), time.monotonic())
    # A line break is two letters on the wire.
    outcome = Outcome(blocks=(TextBlock(letter * (MOST_RESULT_BYTES - 100)),))
    found = kept_from(receipt, outcome, result_bytes, HOUR_S)
    assert (found.result is None) is (letter == "\n")
    assert found.status == "ok"


async def test_a_kept_result_has_no_secret_that_was_looked_up(post: Post) -> None:
    post.serve(secret_env={"POST_TOKEN": "env:MY_TOKEN"})
    post.workspace.env["MY_TOKEN"] = SECRET
    async with client_of(post) as client:
        begin(client, "token")
        await post.until_done("token a")
        await killed(client)
    post.answer()
    (ended,) = await post.until_answers("kept")
    shown = await post.type("result", ended.id)
    assert shown.code == 0
    assert shown.out.strip()
    assert SECRET not in shown.out
    assert SECRET.encode() not in post.kept[0].read_bytes()


async def test_a_result_is_gone_after_the_time_that_the_person_set(post: Post) -> None:
    post.workspace.config_toml('[results]\nkeep = "1s"\n', scope="home")
    async with client_of(post) as client:
        begin(client)
        await post.until_done("post a")
        await killed(client)
    post.answer()
    await post.until_kept()
    call_id = post.kept[0].stem
    told = await post.type("result", call_id)
    await until_true(lambda: not post.calls() or post.kept == [], 60)
    told = await post.type("result", call_id)
    assert told.code == 1
    assert "was not kept" in told.err or "nothing is kept" in told.err
    assert post.kept == []


def _make_older(files: ResultFiles, number: int, by_s: int) -> None:
    path = Path(files.home) / "results" / f"abc-{number}.json"
    at = time.time() - by_s
    os.utime(path, (at, at))
