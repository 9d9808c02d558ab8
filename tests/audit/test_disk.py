"""A disk that is full, a folder that cannot be written, files that are not ours."""

import asyncio
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from audit.ground import Ground, a_record
from switchboard.audit.verify import verify
from switchboard.core.events import AuditFailed, AuditRecovered
from switchboard.core.faults import Fault, FaultCode
from switchkit.files import NotPrivate, make_private_folder

PATIENCE = 60
SCRIBBLER = Path(__file__).with_name("scribbler.py")
# A disk of 600 kB, filled by the scribbler; then some room is made, and it goes on.
TINY_DISK = """
mount -t tmpfs -o size=600k none "$1" || exit 99
dd if=/dev/zero of="$1/ballast" bs=1k count=100 2>/dev/null
"$2" "$3" "$1/home" full 100000 4 67108864 > "$4/full"
rm "$1/ballast"
"$2" "$3" "$1/home" after 3 1 67108864 > "$4/after"
cp -r "$1/home" "$4/home"
"""

# A folder that nobody can write, not even root.
READ_ONLY = """
mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" || exit 99
"$2" "$3" "$1" stranger 1 1 67108864
"""

READ_READ_ONLY = """
mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" || exit 99
"$2" --home "$1" audit verify && "$2" --home "$1" audit tail
"""


def in_a_namespace(script: str, *words: str) -> str:
    """Run a script where everybody may mount, and nobody else sees it."""
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", *words]
    return subprocess.run(
        command, check=True, timeout=PATIENCE, stdout=subprocess.PIPE, text=True
    ).stdout


def scribbled(path: Path) -> tuple[list[str], list[str]]:
    """What was told to be on disk, and what was said of the rest."""
    lines = path.read_text("utf-8").splitlines()
    return (
        [line for line in lines if not line.startswith("!")],
        [line for line in lines if line.startswith("!")],
    )


def test_a_full_disk_is_told_and_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    disk, out = tmp_path / "disk", tmp_path / "out"
    disk.mkdir()
    out.mkdir()
    in_a_namespace(TINY_DISK, str(disk), sys.executable, str(SCRIBBLER), str(out))
    kept, refused = scribbled(out / "full")
    assert len(kept) > 100
    assert len(refused) == 4
    for line in refused:
        assert line.startswith(
            "! audit-unwritable the audit log cannot be written (the disk is full)"
        )
        assert "free some disk space" in line
    after, refused = scribbled(out / "after")
    assert (len(after), refused) == (3, [])
    ground = Ground(out / "home")
    assert set(ground.calls()) >= {*kept, *after}
    assert ground.verified().findings == ()


def test_a_limit_on_the_size_of_files_is_like_a_full_disk(ground: Ground) -> None:
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    done = subprocess.run(
        [sys.executable, SCRIBBLER, ground.paths.home, "limit", "100000", "2", "67108864"],
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        preexec_fn=limited,
    )
    lines = done.stdout.splitlines()
    kept = [line for line in lines if not line.startswith("!")]
    refused = [line for line in lines if line.startswith("!")]
    assert len(kept) > 20
    assert len(refused) == 2
    assert all("the disk refuses it" in line or "full" in line for line in refused)
    assert set(kept) <= set(ground.calls())
    assert ground.verified().findings == ()


async def test_a_log_that_cannot_be_written_is_told_once_and_again_when_it_can_be(
    ground: Ground,
) -> None:
    ground.paths.home.mkdir()
    # A file where the folder should be stops root as well as anybody.
    ground.paths.folder.write_text("", "utf-8")
    async with ground.writing() as writer:
        for _ in range(3):
            with pytest.raises(Fault) as caught:
                await writer.append(a_record("refused"))
            fault = caught.value
            assert (fault.code, fault.reason) == (FaultCode.UNAVAILABLE, "audit-unwritable")
            assert fault.hint
            # A client may see it, so it names no place on this machine.
            assert str(ground.paths.home) not in f"{fault.message} {fault.hint}"
        writer.post(a_record("posted meanwhile"))
        ground.paths.folder.unlink()
        await writer.append(a_record("accepted"))
        await asyncio.sleep(0)
        assert ground.calls() == ["posted meanwhile", "accepted"]
        kinds = [type(event) for event in ground.told]
        assert kinds == [AuditFailed, AuditRecovered]
    assert ground.verified().is_whole


async def test_what_finds_no_room_is_counted_and_written_down(ground: Ground) -> None:
    ground.paths.home.mkdir()
    ground.paths.folder.write_text("", "utf-8")
    async with ground.writing() as writer:
        for number in range(10_050):
            writer.post(a_record(f"c{number}"))
        ground.paths.folder.unlink()
        await writer.flush()
    found = ground.verified()
    assert (found.is_whole, found.lost) == (True, 1)
    assert ground.notes("audit.lost") == ["50 record(s) were not kept for want of room"]
    assert len(ground.calls()) == 10_000


async def test_a_folder_that_cannot_be_written_is_told(ground: Ground) -> None:
    await ground.write(1)
    words = [str(ground.paths.home), sys.executable, str(SCRIBBLER)]
    refused = await asyncio.to_thread(in_a_namespace, READ_ONLY, *words)
    assert refused.startswith("! audit-unwritable the audit log cannot be written (its folder")
    assert "writable for you" in refused
    assert ground.calls() == ["call-0"]
    assert ground.verified().is_whole


async def test_a_copy_that_cannot_be_written_can_be_checked_and_read(ground: Ground) -> None:
    await ground.write(3)
    for path in ground.paths.folder.glob("*-[sw]*"):
        path.unlink()
    switchboard = str(Path(sys.executable).with_name("switchboard"))
    shown = await asyncio.to_thread(
        in_a_namespace, READ_READ_ONLY, str(ground.paths.home), switchboard
    )
    assert "whole: 4 records" in shown
    assert "call-2" in shown


# Not ours, or not only ours


async def test_everything_is_closed_to_others(ground: Ground) -> None:
    os.umask(0o000)
    try:
        await ground.write(2)
        async with ground.writing() as writer:
            await writer.append(a_record())
            for folder in (ground.paths.folder, ground.paths.state):
                assert folder.stat().st_mode & 0o777 == 0o700
                for path in folder.iterdir():
                    assert path.stat().st_mode & 0o777 == 0o600, path
    finally:
        os.umask(0o022)


async def test_what_was_opened_to_others_is_closed_again(ground: Ground) -> None:
    await ground.write(1)
    ground.paths.folder.chmod(0o755)
    ground.paths.key.chmod(0o644)
    await ground.write(1, start=1)
    assert ground.paths.folder.stat().st_mode & 0o777 == 0o700
    assert ground.paths.key.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("which", ["segment", "head", "key", "lock"])
async def test_a_link_is_never_followed(ground: Ground, tmp_path: Path, which: str) -> None:
    await ground.write(1)
    paths = ground.paths
    path = {
        "segment": paths.segment(1),
        "head": paths.head,
        "key": paths.key,
        "lock": paths.lock,
    }[which]
    elsewhere = tmp_path / "elsewhere"
    shutil.move(path, elsewhere)
    path.symlink_to(elsewhere)
    before = elsewhere.read_bytes()
    async with ground.writing() as writer:
        with pytest.raises(Fault) as caught:
            await writer.append(a_record("through a link"))
    assert caught.value.reason == "audit-unwritable"
    assert elsewhere.read_bytes() == before
    if which != "lock":
        assert not verify(ground.paths).is_whole


async def test_a_link_in_place_of_the_folder_is_refused(ground: Ground, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    ground.paths.home.mkdir()
    ground.paths.folder.symlink_to(target)
    async with ground.writing() as writer:
        with pytest.raises(Fault):
            await writer.append(a_record())
    assert list(target.iterdir()) == []
    with pytest.raises(NotPrivate):
        make_private_folder(ground.paths.folder)


async def test_a_key_file_without_a_key_is_told(ground: Ground) -> None:
    await ground.write(1)
    ground.paths.key.write_bytes(b"short")
    async with ground.writing() as writer:
        with pytest.raises(Fault) as caught:
            await writer.append(a_record())
        assert writer.fingerprint(b"x") == ""
    assert "audit.key" in caught.value.hint
