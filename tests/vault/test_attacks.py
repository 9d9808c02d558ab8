"""A vault file that was tampered with, or that somebody else could reach."""

import base64
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from switchboard.core.faults import Fault, FaultCode
from switchboard.vault.envelope import DataKey, read_content, read_entry
from switchboard.vault.file_vault import FileVault
from vault.ground import file_vault

GITHUB = "mcp/github/env/GITHUB_TOKEN"
LINEAR = "mcp/linear/header/Authorization"
CANARY = "canary-5f1e0c"

pytestmark = pytest.mark.requirement("S4.40")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    store = file_vault(tmp_path / "vault")
    store.put(GITHUB, CANARY)
    store.put(LINEAR, f"Bearer {CANARY}")
    return tmp_path / "vault"


def tree_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "vault.json").read_text("utf-8"))


def rewrite(folder: Path, tree: dict[str, Any]) -> None:
    (folder / "vault.json").write_text(json.dumps(tree, separators=(",", ":")), "utf-8")


def refusal(do: Callable[[], object]) -> Fault:
    with pytest.raises(Fault) as caught:
        do()
    fault = caught.value
    said = f"{fault.message} {fault.hint} {fault.private} {dict(fault.details)}"
    assert CANARY not in said
    # A client may read it: the place of the vault is nobody's business.
    assert "/" not in fault.message
    return fault


def refused_everywhere(folder: Path, store: FileVault | None = None) -> Fault:
    """Reading and writing both fail, and leave the file as it is."""
    before = (folder / "vault.json").read_bytes()
    stores = [file_vault(folder)] + ([store] if store is not None else [])
    faults = [refusal(lambda each=each: each.get(GITHUB)) for each in stores]
    faults += [refusal(lambda each=each: each.put(GITHUB, "other")) for each in stores]
    assert len({(fault.code, fault.reason) for fault in faults}) == 1
    assert (folder / "vault.json").read_bytes() == before
    return faults[0]


def test_no_value_lies_in_the_file_in_any_form(folder: Path) -> None:
    for path in folder.iterdir():
        data = path.read_bytes()
        for form in (
            CANARY.encode(),
            base64.b64encode(CANARY.encode())[:-4],
            CANARY[::-1].encode(),
        ):
            assert form not in data
        assert oct(path.stat().st_mode & 0o777) == "0o600"
    assert oct(folder.stat().st_mode & 0o777) == "0o700"


@pytest.mark.parametrize("mode", [0o604, 0o640, 0o666, 0o620])
def test_a_file_that_others_can_reach_is_refused_also_when_it_was_open(
    folder: Path, mode: int
) -> None:
    store = file_vault(folder)
    assert store.get(GITHUB) == CANARY
    (folder / "vault.json").chmod(mode)
    fault = refused_everywhere(folder, store)
    assert (fault.code, fault.reason) == (FaultCode.FAILED_PRECONDITION, "vault-not-private")
    assert "other users" in fault.message


def test_a_folder_that_others_can_open_is_refused(folder: Path) -> None:
    folder.chmod(0o755)
    assert refused_everywhere(folder).reason == "vault-not-private"


def test_a_link_in_the_place_of_the_file_is_refused(folder: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.json"
    (folder / "vault.json").rename(elsewhere)
    (folder / "vault.json").symlink_to(elsewhere)
    assert "is a link" in refused_everywhere(folder).message


def test_a_second_name_of_the_file_is_refused(folder: Path, tmp_path: Path) -> None:
    os.link(folder / "vault.json", tmp_path / "second")
    assert refused_everywhere(folder).reason == "vault-not-private"


def test_a_pipe_in_the_place_of_the_file_does_not_hold_anybody(folder: Path) -> None:
    (folder / "vault.json").unlink()
    os.mkfifo(folder / "vault.json", 0o600)
    assert refusal(lambda: file_vault(folder).get(GITHUB)).reason == "vault-not-private"


@pytest.mark.parametrize("what", ["vault.json", "."])
def test_what_belongs_to_another_user_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    owner = os.getuid()
    if owner == 0:
        os.chown(folder / what, 12345, 12345)
    else:
        # Only root can give a file away; so we are somebody else.
        monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    fault = refused_everywhere(folder)
    assert fault.reason == "vault-not-private"
    assert "user 12345" in fault.message or f"user {owner}" in fault.message


@pytest.mark.parametrize("keep", [0, 1, 50, 0.5, -1, -20])
def test_a_file_that_was_cut_off_is_refused_and_left_alone(folder: Path, keep: float) -> None:
    path = folder / "vault.json"
    data = path.read_bytes()
    end = int(len(data) * keep) if isinstance(keep, float) else keep
    # The last byte is a line feed, which nobody needs.
    path.write_bytes(data[: end - 1 if end < 0 else end])
    fault = refused_everywhere(folder)
    assert (fault.code, fault.reason) == (FaultCode.FAILED_PRECONDITION, "vault-damaged")


def test_entries_that_were_swapped_are_refused(folder: Path) -> None:
    tree = tree_of(folder)
    entries = tree["body"]["entries"]
    entries[GITHUB], entries[LINEAR] = entries[LINEAR], entries[GITHUB]
    rewrite(folder, tree)
    assert refused_everywhere(folder).reason == "vault-damaged"


def test_an_entry_is_bound_to_its_name_also_by_itself(folder: Path) -> None:
    """The seal over the whole is not all that keeps them apart."""
    [key] = folder.glob("key-*")
    envelope = read_content((folder / "vault.json").read_bytes())
    data_key = DataKey.opened(envelope, bytes.fromhex(key.read_text("ascii")))
    ours, theirs = (read_entry(envelope.entries[name]) for name in (GITHUB, LINEAR))
    assert data_key.value(GITHUB, ours) == CANARY
    for entry in (theirs, replace(ours, created_at=1.0)):
        assert refusal(lambda entry=entry: data_key.value(GITHUB, entry)).reason == (
            "vault-damaged"
        )


def _take_out(tree: dict[str, Any]) -> None:
    del tree["body"]["entries"][LINEAR]


def _rename(tree: dict[str, Any]) -> None:
    entries = tree["body"]["entries"]
    entries["mcp/evil/env/X"] = entries[GITHUB]


def _redate(tree: dict[str, Any]) -> None:
    tree["body"]["entries"][GITHUB]["changed_at"] += 1


def _shorten_nonce(tree: dict[str, Any]) -> None:
    tree["seal"]["nonce"] = ""


def _flip(tree: dict[str, Any]) -> None:
    text = bytearray(base64.b64decode(tree["body"]["entries"][GITHUB]["value"]["text"]))
    text[0] ^= 1
    tree["body"]["entries"][GITHUB]["value"]["text"] = base64.b64encode(text).decode()


@pytest.mark.parametrize("change", [_take_out, _rename, _redate, _shorten_nonce, _flip])
def test_whatever_is_changed_from_outside_is_found_out(
    folder: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    tree = tree_of(folder)
    change(tree)
    rewrite(folder, tree)
    assert refused_everywhere(folder).reason == "vault-damaged"


def test_an_old_value_put_back_alone_is_found_out(folder: Path) -> None:
    old = tree_of(folder)["body"]["entries"][GITHUB]
    file_vault(folder).put(GITHUB, "revoked and renewed")
    tree = tree_of(folder)
    tree["body"]["entries"][GITHUB] = old
    rewrite(folder, tree)
    assert refused_everywhere(folder).reason == "vault-damaged"


def test_the_entries_of_another_vault_are_refused(folder: Path, tmp_path: Path) -> None:
    file_vault(tmp_path / "theirs").put(GITHUB, "theirs")
    tree = tree_of(folder)
    tree["body"] = tree_of(tmp_path / "theirs")["body"]
    rewrite(folder, tree)
    assert refused_everywhere(folder).reason == "vault-damaged"


def test_a_whole_vault_of_somebody_else_is_not_opened_by_our_key(
    folder: Path, tmp_path: Path
) -> None:
    file_vault(tmp_path / "theirs").put(GITHUB, "theirs")
    shutil.copy(tmp_path / "theirs" / "vault.json", folder / "vault.json")
    assert refused_everywhere(folder).reason == "vault-locked"
    # Under the name of our key it is not ours either.
    ours = next(folder.glob("key-*"))
    shutil.copy(ours, folder / next((tmp_path / "theirs").glob("key-*")).name)
    assert refused_everywhere(folder).reason == "vault-key-wrong"


@pytest.mark.parametrize("text", ["[]", '{"schema":"x"}', "null", "[" * 100_000, "\xff"])
def test_a_file_that_is_no_vault_is_refused(folder: Path, text: str) -> None:
    (folder / "vault.json").write_text(text, "latin-1")
    assert refused_everywhere(folder).reason == "vault-damaged"


def test_a_vault_of_a_later_version_is_left_alone(folder: Path) -> None:
    tree = tree_of(folder)
    tree["schema"] = "switchboard.vault/2"
    rewrite(folder, tree)
    assert "another version" in refused_everywhere(folder).message


def test_the_list_needs_no_key(folder: Path) -> None:
    for key in folder.glob("key-*"):
        key.unlink()
    store = file_vault(folder)
    assert [entry.reference for entry in store.entries()] == [GITHUB, LINEAR]
    assert refusal(lambda: store.get(GITHUB)).reason == "vault-locked"


def test_a_key_that_comes_back_is_found_without_a_restart(folder: Path) -> None:
    [key] = folder.glob("key-*")
    kept = key.read_bytes()
    key.write_bytes(b"0" * 64)
    store = file_vault(folder)
    assert refusal(lambda: store.get(GITHUB)).reason == "vault-key-wrong"
    key.write_bytes(kept)
    assert store.get(GITHUB) == CANARY


def test_a_key_file_that_others_can_read_is_refused(folder: Path) -> None:
    [key] = folder.glob("key-*")
    key.chmod(0o644)
    fault = refusal(lambda: file_vault(folder).get(GITHUB))
    assert fault.reason == "vault-not-private"
    assert "key" in fault.message
