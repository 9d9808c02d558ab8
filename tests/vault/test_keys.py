"""Where the key of the vault is: a real keychain, a file, and keychains that must not be used."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from cli.commands import switchboard
from support.workspace import Workspace, child_command, server
from switchboard.core.faults import Fault
from switchboard.vault.envelope import KeyNote
from switchboard.vault.file_vault import FileVault
from switchboard.vault.keys.keychain import BACKENDS, Keychain, KeychainBackend
from switchboard.vault.keys.sources import VaultKeys
from switchboard.vault.options import VaultOptions

CANARY = "canary-behind-a-keychain-9034"
TOKEN = "mcp/github/env/GITHUB_TOKEN"
PATIENCE = 100
# A session of a desktop: a bus, and a keychain that was unlocked at the login.
DESKTOP = """
printf password | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1
printf %s "$CANARY" | switchboard vault put mcp/github/env/GITHUB_TOKEN 2>/dev/null
switchboard vault doctor --json
switchboard vault rotate --values 2>/dev/null
switchboard call github report
"""
# Every backend that a plain `keyring` would find, in a process without a desktop.
CHOICE = """
import keyring
from keyrings.alt.file import PlaintextKeyring
from switchboard.vault.keys.keychain import system_keychain
chosen = keyring.get_keyring()
print(type(chosen).__module__, PlaintextKeyring().viable, system_keychain())
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    place = Workspace(tmp_path)
    entry = server(child_command("echo_child"), secret_env={"GITHUB_TOKEN": f"vault:{TOKEN}"})
    place.mcp_json({"github": entry}, scope="home")
    return place


def test_the_key_is_in_the_keychain_of_the_desktop(workspace: Workspace) -> None:
    done = subprocess.run(
        ["dbus-run-session", "--", "sh", "-c", DESKTOP],
        cwd=workspace.root,
        env={**workspace.env, "CANARY": CANARY, "XDG_RUNTIME_DIR": str(workspace.user_home)},
        stdout=subprocess.PIPE,
        text=True,
        timeout=PATIENCE,
        check=True,
    ).stdout
    doctor, end = json.JSONDecoder().raw_decode(done)
    assert (doctor["key_kind"], doctor["problems"], doctor["secrets"]) == ("keychain", [], 1)
    assert CANARY in done[end:]
    # The key is nowhere beside the vault, and what the keychain keeps is encrypted.
    assert sorted(path.name for path in (workspace.home / "vault").iterdir()) == [
        *("used.json", "vault.json", "vault.lock")
    ]
    # Away from the desktop nothing is made up in its place, and nobody waits.
    away = switchboard(workspace, "vault", "doctor")
    assert away.code == 1
    assert "keychain" in away.out
    failed = switchboard(workspace, "call", "github", "report")
    assert failed.code == 1
    assert "`GITHUB_TOKEN` of `github` cannot be had" in failed.err
    assert CANARY not in f"{failed.out}{failed.err}"


def test_a_keychain_of_plain_text_is_never_used(workspace: Workspace) -> None:
    told = subprocess.run(
        [sys.executable, "-c", CHOICE],
        env={**workspace.env, "PYTHON_KEYRING_BACKEND": "keyrings.alt.file.PlaintextKeyring"},
        stdout=subprocess.PIPE,
        text=True,
        timeout=PATIENCE,
        check=True,
    ).stdout.split()
    assert told == ["keyrings.alt.file", "True", "None"]
    switchboard(
        workspace,
        *("vault", "put", TOKEN),
        stdin=CANARY,
        env={"PYTHON_KEYRING_BACKEND": "keyrings.alt.file.PlaintextKeyring"},
    )
    report = switchboard(workspace, "vault", "doctor", "--json").report
    assert report["key_kind"] == "own-key-file"
    assert {module.split(".")[0] for module, _ in BACKENDS} == {"keyring"}


class Hanging:
    """Asks a person who is not there."""

    def __init__(self) -> None:
        self.asked = 0
        self.answer = threading.Event()

    def get_password(self, service: str, username: str) -> str | None:
        del service, username
        self.asked += 1
        self.answer.wait(60)
        return "00" * 32

    def set_password(self, service: str, username: str, password: str) -> None:
        self.get_password(service, username)
        del password

    def delete_password(self, service: str, username: str) -> None:
        raise RuntimeError(service + username)


def test_a_keychain_that_hangs_is_given_up_and_not_asked_twice_at_once() -> None:
    backend = Hanging()
    keychain = Keychain(0.05, lambda: backend)
    for _ in range(3):
        with pytest.raises(Fault) as caught:
            keychain.find(KeyNote(kind="keychain", id="x"))
        assert caught.value.reason == "vault-locked"
        assert "does not answer" in caught.value.message
    assert backend.asked == 1
    backend.answer.set()
    for _ in range(200):
        try:
            assert keychain.find(KeyNote(kind="keychain", id="x")) == bytes(32)
            break
        except Fault:
            threading.Event().wait(0.02)
    else:
        raise AssertionError("it was not asked again once it had answered")


def test_a_keychain_that_refuses_is_as_good_as_none(tmp_path: Path) -> None:
    class Refusing(Hanging):
        def set_password(self, service: str, username: str, password: str) -> None:
            raise RuntimeError(f"no: {service} {username} {password}")

    def backend() -> KeychainBackend:
        return Refusing()

    keys = VaultKeys(str(tmp_path / "vault"), VaultOptions(), keychain=Keychain(5, backend))
    store = FileVault(str(tmp_path / "vault"), keys)
    store.put(TOKEN, CANARY)
    assert store.note is not None
    assert store.note.kind == "own-key-file"
    with pytest.raises(Fault) as caught:
        Keychain(5, backend).make()
    # The words of a backend may hold what it was given.
    assert "no:" not in f"{caught.value.message}{caught.value.private}"


def test_a_keychain_that_forgets_is_found_out_before_the_vault_is_closed_with_its_key(
    tmp_path: Path,
) -> None:
    class Forgetting(Hanging):
        def get_password(self, service: str, username: str) -> str | None:
            del service, username
            return None

    keys = VaultKeys(
        str(tmp_path / "vault"),
        VaultOptions(key="keychain"),
        keychain=Keychain(5, Forgetting),
    )
    with pytest.raises(Fault):
        FileVault(str(tmp_path / "vault"), keys).put(TOKEN, CANARY)
    assert not (tmp_path / "vault" / "vault.json").exists()


def test_the_key_file_that_the_environment_names_is_used(
    workspace: Workspace, tmp_path: Path
) -> None:
    key = tmp_path / "key"
    env = {"SWITCHBOARD_VAULT_KEY_FILE": str(key)}
    missing = switchboard(workspace, "vault", "put", TOKEN, stdin=CANARY, env=env)
    assert missing.code == 1
    key.write_text("ab" * 32 + "\n", "ascii")
    key.chmod(0o644)
    loose = switchboard(workspace, "vault", "put", TOKEN, stdin=CANARY, env=env)
    assert loose.code == 1
    assert "can be read or written by other users" in loose.err
    key.chmod(0o600)
    assert switchboard(workspace, "vault", "put", TOKEN, stdin=CANARY, env=env).code == 0
    report = switchboard(workspace, "vault", "doctor", "--json", env=env).report
    assert (report["key_kind"], report["problems"]) == ("key-file", [])
    assert CANARY in switchboard(workspace, "call", "github", "report", env=env).out
    # Without the file, or with another key, it stays closed.
    assert switchboard(workspace, "vault", "doctor").code == 1
    key.write_text("cd" * 32, "ascii")
    other = switchboard(workspace, "vault", "doctor", env=env)
    assert "holds another key" in other.out


@pytest.mark.parametrize("text", [b"", b"abc", b"zz" * 32, b"a" * 33, b"ab" * 31])
def test_a_key_file_without_a_key_is_refused(tmp_path: Path, text: bytes) -> None:
    key = tmp_path / "key"
    handle = os.open(key, os.O_WRONLY | os.O_CREAT, 0o600)
    os.write(handle, text)
    os.close(handle)
    options = VaultOptions(key_file=str(key))
    keys = VaultKeys(str(tmp_path / "vault"), options)
    with pytest.raises(Fault) as caught:
        FileVault(str(tmp_path / "vault"), keys).put(TOKEN, CANARY)
    assert "holds no key" in caught.value.message


def test_a_passphrase_has_to_be_long_enough(tmp_path: Path) -> None:
    options = VaultOptions(key="passphrase")
    keys = VaultKeys(str(tmp_path / "vault"), options, lambda _: "short")
    with pytest.raises(Fault) as caught:
        FileVault(str(tmp_path / "vault"), keys).put(TOKEN, CANARY)
    assert caught.value.reason == "secret-invalid"
