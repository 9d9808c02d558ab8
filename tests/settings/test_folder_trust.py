"""A folder is trusted as a whole or not; what stands at its path later is another folder."""

import json
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from settings.ground import Ground
from support.requirements import attack
from switchboard.settings.consent.trust_record import read_trust
from switchboard.settings.trust import trust, trust_folder, untrust, untrust_folder


def _trust_folder(ground: Ground) -> bool:
    return trust_folder(str(ground.home), str(ground.workspace))


def _is_trusted(ground: Ground) -> bool:
    return ground.load(trusted=False).folder_trusted


def test_a_folder_is_trusted_only_when_its_user_said_so(ground: Ground) -> None:
    ground.child("x")
    trust(ground.load(trusted=False))
    assert not _is_trusted(ground)
    assert _trust_folder(ground)
    assert not _trust_folder(ground)
    assert _is_trusted(ground)
    assert untrust_folder(str(ground.home), str(ground.workspace))
    assert not _is_trusted(ground)
    # One by one is another question.
    assert [each.name for each in ground.load(trusted=False).servers] == ["x"]


def test_the_variable_for_containers_trusts_the_folder_too(ground: Ground) -> None:
    assert ground.load(trusted=True).folder_trusted


def test_the_files_of_a_folder_do_not_trust_it(ground: Ground) -> None:
    ground.put(ground.own / "trust.json", {"folders": {str(ground.workspace): {"trusted": True}}})
    ground.put(ground.own / "config.toml", "trust_workspace = true\nfolder_trusted = true\n")
    assert not ground.load(trusted=False).folder_trusted


def _made_again(workspace: Path) -> None:
    shutil.rmtree(workspace)
    workspace.mkdir()


def _moved_here(workspace: Path) -> None:
    other = workspace.with_name("other")
    other.mkdir()
    shutil.rmtree(workspace)
    other.rename(workspace)


def _exchanged(workspace: Path) -> None:
    workspace.rename(workspace.with_name("before"))
    workspace.mkdir()


@pytest.mark.parametrize("become", [_made_again, _moved_here, _exchanged])
@attack("B30")
def test_another_folder_at_the_same_path_asks_again(
    ground: Ground, become: Callable[[Path], None]
) -> None:
    """Something else is unpacked where a trusted folder was, with the very same entries."""
    ground.child("x")
    trust(ground.load(trusted=False))
    _trust_folder(ground)
    become(ground.workspace)
    ground.child("x")
    settings = ground.load(trusted=False)
    assert not settings.folder_trusted
    assert (settings.servers, [each.name for each in settings.untrusted]) == ((), ["x"])
    # Trust in the new one brings nothing of the old one back.
    ground.child("y")
    trust(ground.load(trusted=False), ["y"])
    settings = ground.load(trusted=False)
    assert not settings.folder_trusted
    assert [each.name for each in settings.servers] == ["y"]


def test_a_record_of_an_older_version_is_believed_and_grows(ground: Ground) -> None:
    ground.child("x")
    trust(ground.load(trusted=False))
    path = ground.home / "trust.json"
    record = json.loads(path.read_text("utf-8"))
    del record["folders"]
    path.write_text(json.dumps(record), "utf-8")
    assert [each.name for each in ground.load(trusted=False).servers] == ["x"]
    _trust_folder(ground)
    settings = ground.load(trusted=False)
    assert settings.folder_trusted
    assert [each.name for each in settings.servers] == ["x"]


@pytest.mark.parametrize("mode", [0o666, 0o602, 0o646])
@attack("B25")
def test_a_record_that_others_could_have_written_is_not_believed(ground: Ground, mode: int) -> None:
    ground.child("x")
    trust(ground.load(trusted=False))
    _trust_folder(ground)
    (ground.home / "trust.json").chmod(mode)
    settings = ground.load(trusted=False)
    assert (settings.servers, settings.folder_trusted) == ((), False)
    assert "can be written by other users" in settings.warnings[0].message


def test_a_record_in_an_open_folder_or_behind_a_link_is_not_believed(ground: Ground) -> None:
    _trust_folder(ground)
    ground.home.chmod(0o777)
    assert not read_trust(str(ground.home), []).trusts_folder(str(ground.workspace))
    ground.home.chmod(0o700)
    assert _is_trusted(ground)
    record = ground.home / "trust.json"
    record.rename(ground.user_home / "kept.json")
    record.symlink_to(ground.user_home / "kept.json")
    settings = ground.load(trusted=False)
    assert not settings.folder_trusted
    assert "is a link" in settings.warnings[0].message


def test_a_record_of_another_user_is_not_believed(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    _trust_folder(ground)
    if os.getuid() == 0:
        os.chown(ground.home / "trust.json", 12345, 12345)
    else:
        # Only root can give a file away; anybody else can be another user than its owner.
        monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert not _is_trusted(ground)


@attack("B25")
def test_no_decision_is_lost_beside_another(ground: Ground) -> None:
    """Trust is taken back while other trust is given: both count afterwards."""
    for number in range(12):
        ground.child(f"gone{number}")
        ground.child(f"kept{number}")
    settings = ground.load(trusted=False)
    trust(settings, [f"gone{number}" for number in range(12)])
    with ThreadPoolExecutor(8) as pool:
        work = [pool.submit(untrust, settings, [f"gone{number}"]) for number in range(12)]
        work += [pool.submit(trust, settings, [f"kept{number}"]) for number in range(12)]
        for each in work:
            each.result()
    names = {each.name for each in ground.load(trusted=False).servers}
    assert names == {f"kept{number}" for number in range(12)}
