"""Folders that go away: tenants let go first, and nobody comes in meanwhile."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from support.processes import PATIENCE
from switchkit import tenancy
from switchkit.tenancy import Leaving, Removal, Tenancy, is_leaving

_REMOVE = """
import sys
from switchkit.tenancy import Removal
with Removal(sys.argv[1]) as removal:
    print(removal.vacated(30), flush=True)
    sys.stdin.read()
"""


def test_a_removal_waits_for_every_tenant(tmp_path: Path) -> None:
    folder = str(tmp_path)
    one, two = Tenancy(folder), Tenancy(folder)
    assert not is_leaving(folder)
    with Removal(folder) as removal:
        assert not removal.vacated(0.0)
        assert is_leaving(folder)
        one.close()
        assert not removal.vacated(0.0)
        with pytest.raises(Leaving):
            Tenancy(folder)
    # It was given up.
    assert not is_leaving(folder)
    with Removal(folder) as removal:
        told = threading.Event()
        answers: list[bool] = []

        def wait() -> None:
            answers.append(removal.vacated(PATIENCE))
            told.set()

        threading.Thread(target=wait, daemon=True).start()
        until = time.monotonic() + PATIENCE
        while not is_leaving(folder):
            assert time.monotonic() < until
        assert not told.is_set()
        two.close()
        assert told.wait(PATIENCE)
        assert answers == [True]
        with pytest.raises(Leaving):
            Tenancy(folder)
    Tenancy(folder).close()


def test_a_folder_of_locks_that_is_not_ours_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The place is known to all users of the machine, and one of them may have taken it."""
    monkeypatch.setattr("switchkit.tenancy._FOLDER", str(tmp_path))
    tree = str(tmp_path / "tree")
    with Removal(tree) as removal:
        assert removal.vacated(0.0)
        assert is_leaving(tree)
        ours = next(tmp_path.glob("switchkit-*"))
        ours.rename(tmp_path / "elsewhere")
        ours.symlink_to(tmp_path / "elsewhere")
        assert not is_leaving(tree)
        with pytest.raises(OSError, match="not a folder"):
            Tenancy(tree)


def test_a_link_to_a_folder_is_that_folder(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "tree")
    with Removal(str(tmp_path / "tree")) as removal:
        assert removal.vacated(0.0)
        with pytest.raises(Leaving):
            Tenancy(str(tmp_path / "link"))
        # What lies beside it, above or below is another one.
        Tenancy(str(tmp_path)).close()


def test_nobody_has_to_clean_up_after_a_process_that_was_killed(tmp_path: Path) -> None:
    folder = str(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", _REMOVE, folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as remover:
        assert remover.stdout is not None
        assert remover.stdout.readline() == "True\n"
        assert is_leaving(folder)
        remover.kill()
        remover.wait(PATIENCE)
        assert not is_leaving(folder)
        Tenancy(folder).close()


def test_one_of_two_removals_at_a_time(tmp_path: Path) -> None:
    with Removal(str(tmp_path)) as one, Removal(str(tmp_path)) as two:
        assert one.vacated(0.0)
        assert not two.vacated(0.0)


def test_a_tenant_uses_its_lock_so_that_nobody_cleans_it_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tenancy, "_FOLDER", str(tmp_path))
    tenant = Tenancy(str(tmp_path))
    (lock,) = tmp_path.rglob("*.tenants")

    def age_s() -> float:
        return time.time() - lock.stat().st_mtime

    os.utime(lock, (0, 0))
    tenant.keep()
    assert age_s() > 3600
    monkeypatch.setattr(tenancy, "_KEPT_S", 0)
    tenant.keep()
    assert age_s() < 60
    os.utime(lock, (0, 0))
    Tenancy(str(tmp_path)).close()
    assert age_s() < 60
    tenant.close()
    tenant.keep()
