"""A tool that is declared to only read: its sandbox holds it to that."""

import pytest

from commands.bench import Bench, text_of
from support.requirements import requirement
from switchboard.approvals.wording.effects import effects_in_words
from switchboard.core.faults import FaultCode

READS = ["filesystem-read"]
TRIES = """
import os
for attempt in (
    lambda: open('new', 'w'),
    lambda: open('kept.txt', 'a').write('more'),
    lambda: os.remove('kept.txt'),
    lambda: os.rename('kept.txt', 'other.txt'),
    lambda: os.chmod('kept.txt', 0o777),
    lambda: os.mkdir('folder'),
    lambda: open('../kept.txt', 'w') if os.path.exists('../kept.txt') else open('/new', 'w'),
):
    try: attempt()
    except OSError as error: print(error.strerror)
    else: print('done')
print(open('kept.txt').read())
"""


@requirement("S3.18", "S3.96", "S3.105")
@pytest.mark.parametrize("cwd", [".", "part"])
async def test_it_reads_its_folder_and_changes_nothing_in_it(bench: Bench, cwd: str) -> None:
    folder = bench.root / cwd
    folder.mkdir(exist_ok=True)
    for place in {bench.root, folder}:
        (place / "kept.txt").write_text("kept")
    before = sorted(bench.root.rglob("*"))
    mode = (folder / "kept.txt").stat().st_mode
    bench.python("reads", TRIES, cwd=cwd, side_effects=READS)
    said = text_of(await bench.call("reads")).splitlines()
    assert said == [*["Read-only file system"] * 7, "kept"]
    assert sorted(bench.root.rglob("*")) == before
    assert (folder / "kept.txt").read_text() == "kept"
    assert (folder / "kept.txt").stat().st_mode == mode


@requirement("S3.23")
async def test_a_write_is_denied_with_the_keys_that_would_open_it(bench: Bench) -> None:
    bench.python("reads", "open('new', 'w')", side_effects=READS)
    fault = await bench.refused("reads")
    assert (fault.code, fault.reason) == (FaultCode.PERMISSION_DENIED, "sandbox-write")
    assert fault.details["knob"] == "side_effects"
    assert "`side_effects`" in fault.hint
    assert "`writable_roots`" in fault.hint
    assert not (bench.root / "new").exists()


async def test_it_writes_where_a_folder_was_opened_for_it_and_nowhere_else(bench: Bench) -> None:
    (bench.root / "build").mkdir()
    program = "open('build/made', 'w'); open('new', 'w')"
    bench.python("reads", program, side_effects=READS, writable_roots=["build"])
    assert (await bench.refused("reads")).reason == "sandbox-write"
    assert (bench.root / "build" / "made").exists()
    assert not (bench.root / "new").exists()


@pytest.mark.parametrize("opened", [".", "part"])
async def test_its_folder_is_writable_once_it_is_opened_by_name(bench: Bench, opened: str) -> None:
    (bench.root / "part").mkdir()
    program = "open('made', 'w'); print('ok')"
    bench.python("reads", program, cwd="part", side_effects=READS, writable_roots=[opened])
    assert text_of(await bench.call("reads")) == "ok\n"
    assert (bench.root / "part" / "made").exists()


async def test_what_it_may_read_is_no_more_than_before(bench: Bench) -> None:
    (bench.root / "app").mkdir()
    for place in (".env", "app/.env"):
        (bench.root / place).write_text("secret")
    bench.python("reads", "print(open('app/.env').read())", side_effects=READS)
    assert (await bench.refused("reads")).reason == "sandbox-read"
    bench.python("top", "print(open('.env').read())", side_effects=READS)
    assert (await bench.refused("top")).reason == "sandbox-read"


@requirement("S3.31")
@pytest.mark.parametrize(
    ("more", "told"),
    [({}, True), ({"writable_roots": ["build"]}, False), ({"sandbox_profile": "none"}, False)],
)
async def test_a_question_says_whether_its_sandbox_lets_it_write(
    bench: Bench, more: dict[str, object], told: bool
) -> None:
    (bench.root / "build").mkdir()
    bench.python("reads", "", side_effects=READS, **more)
    async with bench.road() as (_, provider):
        launch = await provider.launch(bench.a_call("reads"))
    assert launch is not None
    assert ("its sandbox lets it change no file" in effects_in_words(launch)) == told
