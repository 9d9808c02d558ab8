"""Both keys can be changed, and at no moment is there a vault without one that opens it."""

from pathlib import Path

import pytest

from support.requirements import attack
from switchboard.core.faults import Fault
from switchboard.vault.envelope import KeyNote, read_content, read_entry
from switchboard.vault.file_vault import FileVault
from switchboard.vault.keys.sources import VaultKeys
from switchboard.vault.options import VaultOptions
from vault.ground import file_vault

TOKEN = "mcp/github/env/GITHUB_TOKEN"
BESIDE = VaultOptions(key="own-key-file")
PHRASE = VaultOptions(key="passphrase")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    file_vault(tmp_path / "vault").put(TOKEN, "value")
    return tmp_path / "vault"


def test_a_new_key_leaves_the_values_as_they_are_and_removes_the_old_one(folder: Path) -> None:
    [old] = folder.glob("key-*")
    before = read_content((folder / "vault.json").read_bytes())
    store, other = file_vault(folder), file_vault(folder)
    assert other.get(TOKEN) == "value"
    assert store.rotate_key() is True
    [new] = folder.glob("key-*")
    assert new != old
    after = read_content((folder / "vault.json").read_bytes())
    assert bytes(after.entries[TOKEN]) == bytes(before.entries[TOKEN])
    assert after.data_key != before.data_key
    # Whoever had it open goes on.
    assert (store.get(TOKEN), other.get(TOKEN)) == ("value", "value")


class Killed(BaseException):
    """What comes after it does not happen."""


class KilledBeforeForgetting(VaultKeys):
    """As where the process ends right after the vault was written."""

    def forget(self, *notes: KeyNote) -> None:
        raise Killed(notes)


@attack("T68")
@pytest.mark.parametrize("then", [BESIDE, PHRASE])
def test_a_key_that_a_killed_change_left_is_gone_with_the_next(
    folder: Path, then: VaultOptions
) -> None:
    """Who changes the key because a copy of the vault is in other hands wants the old one gone."""
    [old] = folder.glob("key-*")
    stolen, mine = (folder / "vault.json").read_bytes(), folder / "key-of-mine"
    mine.write_text("not ours", "utf-8")
    with pytest.raises(Killed):
        FileVault(str(folder), KilledBeforeForgetting(str(folder), BESIDE)).rotate_key()
    assert old.exists()
    keys = VaultKeys(str(folder), then, lambda _: "correct horse battery")
    assert file_vault(folder).rotate_key(keys) is True
    assert not old.exists()
    left = [each for each in folder.glob("key-*") if each != mine]
    assert len(left) == (1 if then is BESIDE else 0)
    assert FileVault(str(folder), keys).get(TOKEN) == "value"
    assert mine.exists()
    (folder / "vault.json").write_bytes(stolen)
    with pytest.raises(Fault):
        file_vault(folder).get(TOKEN)


def test_a_new_data_key_encrypts_everything_anew(folder: Path) -> None:
    before = read_content((folder / "vault.json").read_bytes())
    store, other = file_vault(folder), file_vault(folder)
    assert other.get(TOKEN) == "value"
    assert store.rotate_data_key() is True
    after = read_content((folder / "vault.json").read_bytes())
    old, new = (read_entry(each.entries[TOKEN]) for each in (before, after))
    assert new.value != old.value
    assert (new.created_at, new.changed_at) == (old.created_at, old.changed_at)
    assert (after.key, after.data_key) != (before.key, before.data_key)
    assert (store.get(TOKEN), other.get(TOKEN)) == ("value", "value")


def test_where_there_is_no_vault_nothing_is_rotated_or_made(tmp_path: Path) -> None:
    store = file_vault(tmp_path / "none")
    assert (store.rotate_key(), store.rotate_data_key()) == (False, False)
    assert not (tmp_path / "none").exists()


def test_from_a_key_file_to_a_passphrase_and_back(folder: Path) -> None:
    phrases: list[bool] = []

    def ask(is_new: bool) -> str:
        phrases.append(is_new)
        return "correct horse battery"

    beside = file_vault(folder)
    assert beside.rotate_key(VaultKeys(str(folder), PHRASE, ask)) is True
    assert list(folder.glob("key-*")) == []
    # Nobody to ask: told at once, and nothing is sent in its place.
    with pytest.raises(Fault) as caught:
        file_vault(folder).get(TOKEN)
    assert caught.value.reason == "vault-locked"
    with_person = FileVault(str(folder), VaultKeys(str(folder), PHRASE, ask))
    assert with_person.get(TOKEN) == "value"
    # Asked once for as long as it is open.
    assert with_person.get(TOKEN) == "value"
    assert phrases == [True, False]
    with pytest.raises(Fault) as caught:
        FileVault(str(folder), VaultKeys(str(folder), PHRASE, lambda _: "wrong horse")).get(TOKEN)
    assert caught.value.reason == "vault-key-wrong"
    assert with_person.rotate_key(VaultKeys(str(folder), BESIDE)) is True
    assert file_vault(folder).get(TOKEN) == "value"


def test_a_rotation_that_finds_no_room_leaves_the_old_key_in_force(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = file_vault(folder)

    def full(_path: str, _data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("switchboard.vault.vault_file.replace_file", full)
    for rotate in (store.rotate_key, store.rotate_data_key):
        with pytest.raises(Fault) as caught:
            rotate()
        assert caught.value.reason == "vault-unavailable"
    monkeypatch.undo()
    assert file_vault(folder).get(TOKEN) == "value"
