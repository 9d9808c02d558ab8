"""A full disk, and writers that are killed."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from switchboard.core.faults import Fault
from switchboard.vault.vault_file import VaultFile
from vault.ground import file_vault

PATIENCE = 60
SCRIBBLER = Path(__file__).with_name("scribbler.py")
TESTS = Path(__file__).parents[1]
FOR_EVER = 1_000_000
# A disk of a few pages, filled until the vault finds no room; then room is made.
TINY_DISK = """
mount -t tmpfs -o size=200k,mode=700 none "$1" || exit 99
"$2" "$3" "$1/vault" first 4
dd if=/dev/zero of="$1/ballast" bs=1k 2>/dev/null
"$2" "$3" "$1/vault" full 4
ls -A "$1/vault"
rm "$1/ballast"
"$2" "$3" "$1/vault" after 4
cp -r "$1/vault" "$4"
"""


def start(folder: Path, name: str, count: int) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, str(SCRIBBLER), str(folder), name, str(count)],
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(TESTS), "PATH": "/usr/bin:/bin"},
    )


def acknowledged(lines: list[str]) -> dict[str, int]:
    """Give the last turn that was told to be on disk, by reference."""
    found: dict[str, int] = {}
    for line in lines:
        reference, turn = line.split()
        found[reference] = int(turn)
    return found


def check(folder: Path, told: dict[str, int]) -> None:
    """Every value that was told to be on disk is there, or a later one of the same writer."""
    store = file_vault(folder)
    for reference, turn in told.items():
        value = store.get(reference)
        assert value is not None
        assert int(value.split(":")[0]) >= turn


def killed(folder: Path, *, writers: int, rounds: int, acknowledge: int) -> dict[str, int]:
    """Kill writers in the middle of their work, again and again."""
    chance = random.Random(12)
    told: dict[str, int] = {}
    for turn in range(rounds):
        running = [start(folder, f"w{turn}-{number}", FOR_EVER) for number in range(writers)]
        lines: list[str] = []
        for writer in running:
            assert writer.stdout is not None
            lines += [writer.stdout.readline() for _ in range(chance.randint(1, acknowledge))]
        for writer in running:
            writer.kill()
        for writer in running:
            writer.wait(PATIENCE)
            assert writer.stdout is not None
            with writer.stdout as rest:
                lines += [line for line in rest if line.endswith("\n")]
        told |= acknowledged(lines)
        check(folder, told)
    return told


def test_writers_that_are_killed_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    folder = tmp_path / "vault"
    told = killed(folder, writers=2, rounds=3, acknowledge=8)
    assert len(told) >= 6
    # The next one who writes clears up after them.
    file_vault(folder).put("mcp/last/env/K", "value")
    assert {path.name.split("-")[0] for path in folder.iterdir()} <= {
        *("vault.json", "vault.lock", "key", "used.json")
    }


@pytest.mark.soak
def test_a_thousand_writes_by_writers_that_are_killed(tmp_path: Path) -> None:
    told = killed(tmp_path / "vault", writers=6, rounds=20, acknowledge=20)
    assert len(told) >= 60


def test_writers_at_the_same_time_lose_nothing_and_found_one_vault(tmp_path: Path) -> None:
    writers = [start(tmp_path / "vault", f"p{number}", 8) for number in range(4)]
    lines = [writer.communicate(timeout=PATIENCE)[0].splitlines() for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * 4
    check(tmp_path / "vault", acknowledged([line for each in lines for line in each]))
    assert len(file_vault(tmp_path / "vault").entries()) == 32
    assert len(list((tmp_path / "vault").glob("key-*"))) == 1


def test_a_full_disk_is_told_and_the_vault_stays_as_it_was(tmp_path: Path) -> None:
    disk, kept = tmp_path / "disk", tmp_path / "kept"
    disk.mkdir()
    words = [str(disk), sys.executable, str(SCRIBBLER), str(kept)]
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", TINY_DISK, "sh"]
    said = subprocess.run(
        [*command, *words],
        check=True,
        timeout=PATIENCE,
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(TESTS), "PATH": "/usr/bin:/bin"},
    ).stdout.splitlines()
    failures = [line for line in said if line.startswith("! ")]
    assert failures == [
        "! unavailable vault-unavailable the vault cannot be used: No space left on device"
    ]
    # Half a file is not left behind.
    assert not [line for line in said if line.startswith(".vault.json")]
    written = {line.split("/")[1] for line in said if line.startswith("mcp/")}
    assert written == {"first", "after"}
    check(kept, acknowledged([line for line in said if line.startswith("mcp/")]))


def test_a_writer_that_hangs_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("switchboard.vault.vault_file._PATIENCE_S", 0.05)
    folder = tmp_path / "vault"
    store = file_vault(folder)
    store.put("mcp/a/env/K", "value")
    with VaultFile(str(folder)).writing(), pytest.raises(Fault) as caught:
        file_vault(folder).put("mcp/a/env/K", "other")
    assert caught.value.reason == "vault-busy"
    # Who only reads does not care.
    assert store.get("mcp/a/env/K") == "value"


def test_a_vault_is_never_written_larger_than_what_is_read_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("switchboard.vault.vault_file._MOST_BYTES", 4_000)
    folder = tmp_path / "vault"
    store = file_vault(folder)
    store.put("mcp/a/env/K", "value")
    before = (folder / "vault.json").read_bytes()
    with pytest.raises(Fault) as caught:
        store.put("mcp/a/env/LARGE", "x" * 4_000)
    assert (caught.value.reason, bool(caught.value.hint)) == ("vault-full", True)
    assert (folder / "vault.json").read_bytes() == before
    assert file_vault(folder).get("mcp/a/env/K") == "value"
    # There is a way out.
    assert store.delete("mcp/a/env/K") is True
    store.put("mcp/a/env/K", "other")
    assert store.get("mcp/a/env/K") == "other"
